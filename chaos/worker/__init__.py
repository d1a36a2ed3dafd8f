"""What runs inside the cluster's network: load workers and the observer."""
