"""The log of a broker in memory and on disk, and the thread that makes writes durable."""
