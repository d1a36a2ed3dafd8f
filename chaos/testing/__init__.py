"""For authors of checks and plugins: histories as literals, on disk as a run would leave them."""
