"""Checks of consumers: groups, pops, delayed messages."""
