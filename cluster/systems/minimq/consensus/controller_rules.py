"""What the controllers' failure detector decides, small and pure, so that it can be read and bent alone.

It does not know messages, timers and the log.
"""


def is_alive(heard_ms: int, now_ms: int, dead_after_ms: int) -> bool:
    """Whether a broker last heard of at ``heard_ms`` counts as alive."""
    return heard_ms > now_ms - dead_after_ms
