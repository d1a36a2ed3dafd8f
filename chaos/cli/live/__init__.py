"""What a command shows while it works: on a terminal, in lines, or as JSON for programs."""
