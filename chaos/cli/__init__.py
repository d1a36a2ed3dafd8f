"""The command line: one file per kind of command, each loaded only when it is typed."""
