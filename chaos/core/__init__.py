"""The words every other package speaks: op, history, event, verdict, error, clock.

``chaos.core`` imports nothing of ours and refuses to act: no host, no fault, no check lives here.
"""
