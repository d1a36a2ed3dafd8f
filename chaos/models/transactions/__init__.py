"""The model ``transaction``: micro-operations on several keys, done as one."""
