"""Recovery after faults: times, losses, service, and nodes that did not come back."""
