"""Faults that cut links: partitions, whole, one-way, flapping, or healed in steps."""
