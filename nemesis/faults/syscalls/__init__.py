"""Faults of system calls: one that fails or takes long."""
