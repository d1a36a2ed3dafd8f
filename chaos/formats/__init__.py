"""Histories that other tools wrote: one module per notation, one door for all (``registry.read``).

The package does not judge or guess: a format is named by the caller, never recognised from a file's content.
"""
