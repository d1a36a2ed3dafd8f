"""Histories that other tools wrote: one module per notation, one door for all (``registry.read``).

The package refuses to judge and to guess: a format is named by the caller, never recognised from a file's content.
"""
