"""The controllers: Raft, and the metadata that they agree on."""
