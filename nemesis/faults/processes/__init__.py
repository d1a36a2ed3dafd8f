"""Faults of processes: ended, stopped, paused, and kept short of what they need."""
