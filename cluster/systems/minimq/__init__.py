"""minimq: the embedded broker and controller cluster, honest by default, with bugs that can be switched on."""
