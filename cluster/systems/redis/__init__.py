"""Redis 7: one server, a master that sentinels watch, or a cluster of slots."""
