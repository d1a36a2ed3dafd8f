"""Whoever asks a cluster from outside: clients of a load, the probe, and the admin interface."""
