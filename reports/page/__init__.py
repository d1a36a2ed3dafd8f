"""The HTML page of one run."""
