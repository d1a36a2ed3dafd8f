"""What may be said of readings of a clock: by bounds, never by a tolerance."""

import pytest

from cluster.host import Completed
from nemesis.faults.clocks import mover
from nemesis.faults.clocks.readings import (
    Reading,
    ahead_by,
    is_right,
    judge_readings,
    plain,
    rate_of,
    runs_at,
    swings_to,
)

S = 1_000_000_000
HOUR = 3_600 * S


def at(second, ahead_ns, width_ns=2_000):
    """A sample at a second, of a clock that is so much ahead in the middle of it."""
    before = 1_000 * S + round(second * S)
    return before, before + width_ns // 2 + round(ahead_ns), before + width_ns


def reading(*samples, **kwargs):
    return Reading(name="java", samples=samples, **kwargs)


@pytest.mark.parametrize("ahead", [60 * S, -86_400 * S, 1])
def test_a_jump_is_seen_exactly(ahead):
    seen = reading(at(0, ahead), at(1, ahead))
    assert ahead_by(seen, ahead, HOUR)[0]
    assert not ahead_by(seen, ahead + 2_000, HOUR)[0]
    assert not ahead_by(reading(at(0, ahead), at(1, 0)), ahead + 10_000, HOUR)[0]


def test_one_sample_that_differs_is_enough_to_be_wrong():
    assert not ahead_by(reading(*(at(i, 60 * S) for i in range(9)), at(9, 0)), 60 * S, 60 * S)[0]


def test_samples_that_were_taken_too_slowly_prove_nothing():
    slow = reading(at(0, 0, width_ns=40 * S), at(50, 0, width_ns=40 * S))
    assert not is_right(slow, 60 * S)[0], "60 s ahead would look the same"
    assert not ahead_by(slow, 60 * S, 60 * S)[0]
    assert is_right(reading(at(0, 0, width_ns=40 * S), at(50, 0)), 60 * S)[0], "the sharp ones tell"
    assert is_right(slow, 0)[0], "nothing was changed, so there is nothing to be told apart"


def test_a_rate_lies_between_bounds():
    drifting = reading(*(at(i / 10, i / 10 * S * 0.01) for i in range(20)))
    low, high = rate_of(drifting)
    assert low < 0.01 < high
    assert high - low < 1e-5
    assert runs_at(drifting, 0.01)[0]
    assert not runs_at(drifting, 0.0101)[0]
    assert not runs_at(drifting, -0.01)[0]


def test_a_look_that_goes_on_from_an_earlier_one_tells_more():
    gained = lambda second: at(second, second * 1_000)  # noqa: E731 - 1 ppm
    assert not runs_at(reading(*(gained(i / 100) for i in range(20))), 1e-6)[0]
    assert runs_at(reading(*(gained(i / 100) for i in range(20)), *(gained(20 + i / 100) for i in range(20))), 1e-6)[0]


def test_a_rate_that_could_be_none_is_not_proven():
    slow = reading(at(0, 0, width_ns=100_000_000), at(2, 2_000, width_ns=100_000_000))
    low, high = rate_of(slow)
    assert low < 1e-6 < high
    assert not runs_at(slow, 1e-6)[0]
    assert not runs_at(reading(at(0, 0)), 0.01)[0], "one reading says nothing of a rate"
    assert not runs_at(reading(), 0.01)[0]


def test_a_strobe_is_seen_on_both_sides():
    both = [at(i, 60 * S if i % 2 else 0) for i in range(20)]
    assert swings_to(reading(*both), 60 * S)[0]
    assert not swings_to(reading(*both, at(21, 30 * S)), 60 * S)[0]
    assert not swings_to(reading(*(at(i, 60 * S) for i in range(20))), 60 * S)[0]
    assert not swings_to(reading(*(at(i, 0) for i in range(20))), 60 * S)[0]
    assert not swings_to(reading(), 60 * S)[0]


def test_all_processes_of_a_node_must_see_it():
    good, bad = reading(at(0, 60 * S)), reading(at(0, 0))
    judge = lambda _pid, one: ahead_by(one, 60 * S, 60 * S)  # noqa: E731
    proven, said = judge_readings({71: good, 72: good}, judge)
    assert proven
    assert said.startswith("pid 71 and 1 beside it sees its clock +60.0")
    assert judge_readings({71: good, 72: bad}, judge)[0] is False
    assert judge_readings({71: good, 72: Reading(name="sh", error="no permission")}, judge) == (
        False,
        "pid 72 (sh) could not be read: no permission",
    )
    assert judge_readings({}, judge) == (False, "has no process")


def test_monotonic_time_that_is_disturbed_is_no_proof():
    proven, said = judge_readings(
        {71: reading(at(0, 60 * S), steady=False)}, lambda _pid, one: ahead_by(one, 60 * S, 60 * S)
    )
    assert not proven
    assert "monotonic time is disturbed" in said


def test_what_is_stored_has_every_process():
    stored = plain({71: reading(at(0, 60 * S), at(1, 61 * S)), 72: Reading(name="sh", error="gone")})
    assert stored["71"] == {
        "name": "java",
        "monotonic": "untouched",
        "ahead_s": [59.999999, 61.000001],
        "samples": 2,
    }
    assert stored["72"] == {"name": "sh", "error": "gone"}


class OtherMachine:
    """A host that says what it is, and runs nothing."""

    home = "/nowhere"

    def __init__(self, machine):
        self._machine = machine

    def run(self, *argv, **_):
        assert argv == ("uname", "-m"), "nothing else may be tried there"
        return Completed(argv, 0, f"{self._machine}\n".encode(), b"")


def test_another_kind_of_machine_is_refused_in_one_line():
    assert mover.obstacle(OtherMachine("aarch64")) == (
        "clocks can be moved on x86-64 only, and this host is aarch64; use hosts of x86-64"
    )
