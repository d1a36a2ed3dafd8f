"""The model ``log``: queues, partitions or topics to which clients append values and from which they read."""
