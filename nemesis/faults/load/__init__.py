"""Faults of the load: what clients do to a system that nobody touches."""
