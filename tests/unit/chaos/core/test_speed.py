"""How fast a simulation was, in words."""

import pytest

from chaos.core.clock import speed


@pytest.mark.parametrize(
    ("simulated_s", "took_s", "said"),
    [
        (67.3, 1.48, "45 times as fast"),
        (100_000.0, 50.0, "2,000 times as fast"),
        (7.0, 5.0, "1.4 times as fast"),
        (50.0, 5.0, "10 times as fast"),
        (5.0, 10.0, "0.5 times as fast"),
        (1.0, 240.0, "0.0042 times as fast"),
    ],
)
def test_what_was_slower_than_real_time_is_not_told_as_nothing(simulated_s: float, took_s: float, said: str) -> None:
    assert speed(simulated_s, took_s) == said
