"""Which checks run, and the engine that runs them without a JVM."""
