"""System calls of nodes that fail or wait: the supervisor, how nodes come to be under it, and how it is spoken to."""
