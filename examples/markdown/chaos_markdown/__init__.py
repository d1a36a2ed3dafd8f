"""The reporter ``markdown``: a verdict that fits into a comment."""
