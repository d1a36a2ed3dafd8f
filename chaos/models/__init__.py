"""Models: the kinds of object that workloads work on. ``chaos.core.model`` says what a model is."""
