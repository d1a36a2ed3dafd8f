"""Nacos: its configuration, as registers."""
