"""When each fault comes: plans, mixes and sequences, decided before anything happens."""
