"""The words every other package speaks: op, history, event, verdict, error, clock.

``chaos.core`` imports nothing of ours and does not act: no host, no fault, no check lives here.
"""
