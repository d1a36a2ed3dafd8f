"""The models of queues whose messages have no offsets."""
