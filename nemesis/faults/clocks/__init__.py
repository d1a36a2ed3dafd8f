"""Faults of clocks: a running process is shown another time."""
