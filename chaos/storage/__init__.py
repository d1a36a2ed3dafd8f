"""The folder of a run: how its history is recorded, proven whole, and read again as tables."""
