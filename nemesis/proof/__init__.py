"""What measurements say of a fault: pure functions from counts and states to evidence."""
