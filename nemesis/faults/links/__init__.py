"""Faults of links: packets that are lost, late, doubled, changed or too large."""
