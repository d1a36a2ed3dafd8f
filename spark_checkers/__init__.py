"""The checks on Spark: the kernels of ``checkers``, scheduled over queues, each where its rows are read.

Nothing of Spark is imported before it is asked for. The package does not judge by itself.
"""
