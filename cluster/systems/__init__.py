"""The systems that can be tested, one package each, found by entry point."""
