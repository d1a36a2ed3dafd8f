"""Where nodes live: network namespaces, Docker containers, machines reached by SSH."""
