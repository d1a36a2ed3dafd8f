"""Checks of a log: loss, duplicates, order, offsets, replicas."""
