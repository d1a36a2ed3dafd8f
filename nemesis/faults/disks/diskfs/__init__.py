"""A file system of ours beneath a node's data folders: what it is told, asked, and what shows its effect."""
