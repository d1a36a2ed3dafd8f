"""``chaos run``: deploy, load, break, heal, drain, check, report."""
