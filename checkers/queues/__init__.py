"""Checks of queues whose messages have no offsets."""
