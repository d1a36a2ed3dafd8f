"""The brokers: a master that appends and counts, followers that fetch, and what each knows of its copy."""
