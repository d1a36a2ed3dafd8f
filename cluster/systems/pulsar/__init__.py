"""Apache Pulsar with BookKeeper: brokers that own topics, bookies that keep their ledgers, and metadata."""
