"""NATS with JetStream: key-value buckets or logs, each kept by one server or by a Raft group of three."""
