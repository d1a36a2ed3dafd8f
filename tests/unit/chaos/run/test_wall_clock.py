"""The run's clock and everybody else's."""

from datetime import UTC, datetime, timedelta

from chaos.core.clock import NS_PER_S, now_ns
from chaos.run.wall_clock import utc_of


def test_an_instant_of_the_runs_clock_is_the_same_instant_in_utc():
    before = datetime.now(UTC)
    said = datetime.fromisoformat(utc_of(now_ns() + 3600 * NS_PER_S))
    hour = timedelta(hours=1)
    assert before + hour - timedelta(milliseconds=1) <= said <= datetime.now(UTC) + hour + timedelta(milliseconds=1)
