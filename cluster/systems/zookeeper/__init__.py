"""ZooKeeper 3.9: an ensemble of voters, and observers if there are any."""
