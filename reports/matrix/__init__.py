"""The pages of a matrix of runs."""
