"""Checks of coordination: ids that are given once, and what else processes rely on to agree."""
