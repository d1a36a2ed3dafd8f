"""What a fault waits for beside its time: a moment at which a system is easily hit."""
