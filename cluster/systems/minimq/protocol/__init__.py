"""What nodes and clients say to each other, how it looks on the wire, and what enters and leaves a core."""
