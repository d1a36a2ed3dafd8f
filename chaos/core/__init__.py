"""The words that every other package speaks: operations, events, verdicts, errors, the clock.

``chaos.core`` does not act and imports ``chaos.basics`` only: no file, no host, no fault, no check lives here.
"""
