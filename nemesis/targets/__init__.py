"""Whom a fault hits: selectors, roles and cuts, decided by pure functions."""
