"""What several systems share: clients, routing, connections, caches."""
