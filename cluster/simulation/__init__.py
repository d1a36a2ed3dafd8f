"""Whole clusters in one process and in simulated time: the backend ``sim``."""
