"""What dead runs left behind, and its removal."""
