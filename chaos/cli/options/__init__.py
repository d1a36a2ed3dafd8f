"""The options of commands, each declared once for all that take it, and how help groups them."""
