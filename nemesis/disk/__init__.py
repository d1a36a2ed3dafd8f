"""The file system that faults of disks put beneath nodes: its program, its mounts, and how it is spoken to."""
