"""What the clients do: each workload is one file with its operations, its generator and its final reads."""
