"""Checks of the cluster itself: leaders, progress, what the faults came to."""
