"""The cores in simulated time, and what must hold of them after every step."""
