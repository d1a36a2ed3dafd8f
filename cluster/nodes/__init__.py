"""Processes of nodes: how they are started, signalled, watched, and how they ended."""
