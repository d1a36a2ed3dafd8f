"""Faults by a system's own administration: leadership, members, compaction."""
