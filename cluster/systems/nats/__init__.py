"""NATS with JetStream: key-value buckets, each kept by one server or by a Raft group of three."""
