"""What any program needs: amounts as people write them, random streams, checksums, searches. Imports nothing else."""
