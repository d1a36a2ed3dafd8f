"""Hosts as containers of this machine's Docker engine."""
