"""Apache Kafka in KRaft mode."""
