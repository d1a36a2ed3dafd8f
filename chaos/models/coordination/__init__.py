"""The models of coordination: what processes ask of a service to agree with each other."""
