"""The bugs that can be switched on: what each is, and how it bends the rules."""
