"""Unique ids: a model, a workload on it, and the check that judges it."""
