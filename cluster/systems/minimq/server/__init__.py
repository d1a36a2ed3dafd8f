"""One node as a process: its configuration, its connections and timers around a core."""
