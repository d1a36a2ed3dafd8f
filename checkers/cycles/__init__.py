"""Graphs of dependencies and the search for their cycles."""
