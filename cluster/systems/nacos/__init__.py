"""Nacos: its configuration as registers, the instances of its services as leases."""
