"""Workloads on objects with keys: registers, sets, counters, locks, leases, queues without offsets and so on."""
