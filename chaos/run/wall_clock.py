"""The wall clock, for people: nothing is computed from it."""

from datetime import UTC, datetime, timedelta

from chaos.core.clock import now_ns


def utc_of(time_ns: int) -> str:
    """An instant of the run's clock as everybody else's clocks have it, so that nodes' logs can be laid beside it."""
    return (datetime.now(UTC) + timedelta(microseconds=(time_ns - now_ns()) / 1000)).isoformat()
