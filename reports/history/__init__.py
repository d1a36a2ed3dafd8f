"""A stored history as rows and as aligned text."""
