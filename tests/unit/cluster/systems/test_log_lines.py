"""How servers that date their log lines in a way of their own do so."""

from collections.abc import Callable

import pytest

from cluster.systems.nats.system import Nats
from cluster.systems.redis.system import Redis


@pytest.mark.parametrize(
    ("dated", "line", "as_usual"),
    [
        (Nats().dated, "[13] 2026/11/22 08:00:00.250001 [INF] up", "2026/11/22 08:00:00.250001 [INF] up"),
        (Nats().dated, "[13] no date", "[13] no date"),
        (Redis().dated, "13:M 22 Nov 2026 08:00:00.250 * up", "2026-11-22 08:00:00.250 * up"),
        (Redis().dated, "1:X 01 Jan 2027 23:59:59.001 # +sdown", "2027-01-01 23:59:59.001 # +sdown"),
        (Redis().dated, "13:M 22 Foo 2026 08:00:00.250 * up", "13:M 22 Foo 2026 08:00:00.250 * up"),
        (Redis().dated, "13:M 22 Nov 2026 * up", "13:M 22 Nov 2026 * up"),
        (Redis().dated, "oO0OoO0OoO0Oo Redis is starting", "oO0OoO0OoO0Oo Redis is starting"),
    ],
)
def test_the_date_comes_first_and_the_rest_stays(dated: Callable[[str], str], line: str, as_usual: str) -> None:
    assert dated(line) == as_usual
