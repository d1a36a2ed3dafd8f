"""Hosts as machines reached by SSH."""
