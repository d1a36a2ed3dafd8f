"""Faults of TCP connections: reset, refused, cut after bytes, without a port."""
