"""Programs of ours that run on hosts: agents, sandboxes, watchdogs, probes."""
