"""Packets between hosts: filters that drop them, and probes that show which links deliver."""
