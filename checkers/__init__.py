"""Checks as kernels, the words in which their findings are told, and the engine that needs no JVM.

A kernel looks at the columns of one queue; everything else here is adding up and saying. The package does not import
Spark, hosts or reports.
"""
