"""Numbers as people write them: what each text means, and what is refused with what to give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.basics.amounts import BOUNDS, DAY_S, SEED, Amount, duration

TIME = Amount("duration", 0, 30 * DAY_S, above=True)
COUNT = Amount("count", 1, 10_000_000)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90.5", 90.5),
        ("1_000", 1000),
        ("1e3", 1000),
        ("500ms", 0.5),
        ("10s", 10),
        ("10m", 600),
        ("10min", 600),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("2d", 2 * DAY_S),
        (" 3S ", 3),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert TIME.read(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "x", "m", "10x", "1h30", "1m30", "1:30", "10 20", "-1", "0", "0s", "31d", "nan", "inf", "0x10", "1e400"],
)
def test_what_is_no_duration_within_the_bounds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a duration above 0 and up to 30d, as in 90, 500ms, 10m or 1h30m$"):
        TIME.read(text)


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("1e6", 1_000_000), ("10k", 10_000), ("2M", 2_000_000), ("1.5k", 1500)]
)
def test_a_count_is_whole(text: str, number: int) -> None:
    read = COUNT.read(text)
    assert read == number
    assert isinstance(read, int)


@pytest.mark.parametrize("text", ["", "0", "-3", "1.5", "0.0001k", "1e8", "ten", "10m s", "5h"])
def test_what_is_no_count_within_the_bounds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a whole number from 1 to 10000000$"):
        COUNT.read(text)


def test_a_seed_of_many_digits_is_kept_to_the_last() -> None:
    assert SEED.read(str((1 << 63) - 1)) == (1 << 63) - 1
    with pytest.raises(ValueError, match="whole number"):
        SEED.read(str(1 << 63))


@given(st.integers(1, 30 * DAY_S) | st.floats(0.001, 30 * DAY_S, allow_nan=False))
def test_a_duration_that_is_written_is_read_again(value_s: float) -> None:
    assert TIME.read(duration(value_s)) == pytest.approx(value_s, rel=1e-12)


@pytest.mark.parametrize(
    ("value_s", "text"), [(0, "0s"), (0.5, "500ms"), (3.0, "3s"), (60.0, "1m"), (5400, "1h30m"), (90.5, "90.5s")]
)
def test_a_duration_is_written_as_people_do(value_s: float, text: str) -> None:
    assert duration(value_s) == text


def test_the_defaults_of_a_run_are_within_their_bounds() -> None:
    from chaos.options.experiment import DEFAULTS

    for name, amount in BOUNDS.items():
        assert name not in DEFAULTS or amount.holds(DEFAULTS[name]), name
