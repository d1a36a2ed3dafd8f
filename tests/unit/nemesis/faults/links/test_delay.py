"""What round trips prove of a delay, what its parameters may be, and how packets wait, without any host."""

import pytest

from chaos.core.errors import UsageError
from nemesis.faults import params
from nemesis.faults.links.delay import Delay, DelayParams, judge
from nemesis.faults.links.packet_program import Line
from nemesis.targets.grudge import all_links, links
from nemesis.targets.selectors import Selector

NODES = ("b1", "b2", "b3", "client")
HOW = DelayParams(delay_ms=100, jitter_ms=20)
SLOW = frozenset(links(Delay.grudge(Selector.LEADER, ("b2",), NODES[:3])))
USUAL = {link: [0.3, 0.2, 9.0] for link in all_links(NODES)}
NONE: frozenset = frozenset()


def seen(**changes):
    """Round trips under the fault as they should be, but for some links named a_b."""
    now = {link: [161.0, 200.0, 239.0] if link in SLOW else [0.4, 0.3, 2.0] for link in USUAL}
    return now | {tuple(link.split("_")): took for link, took in changes.items()}


def test_every_link_of_the_target_is_late_and_no_other():
    evidence = judge(USUAL, seen(), SLOW, NONE, HOW)
    assert evidence.proven
    assert evidence.summary == "round trips on 4 links take 200 ms, 8 of 8 others are as quick as before"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"b1_b2": [150.0, 200.0, 210.0]}, "wrong: b1→b2 200.0 ms, before 0.3 ms"),
        ({"b2_b3": [0.3, 0.4, 0.5]}, "wrong: b2→b3 0.4 ms"),
        ({"b1_b2": []}, "wrong: b1→b2 inf ms"),
        ({"b1_b2": [170.0, 400.0, 500.0]}, "wrong: b1→b2 400.0 ms"),
        ({"b1_b3": [60.0, 80.0, 90.0]}, "7 of 8 others are as quick as before, wrong: b1→b3 80.0 ms"),
        ({"client_b2": [170.0, 200.0, 210.0]}, "wrong: client→b2 200.0 ms"),
        ({"b1_b3": []}, "wrong: b1→b3 inf ms"),
    ],
    ids=["too quick", "not late", "no answer", "far too late", "another is late", "a client is late", "another is cut"],
)
def test_a_link_that_is_not_as_it_should_be_proves_nothing(changes, said):
    evidence = judge(USUAL, seen(**changes), SLOW, NONE, HOW)
    assert not evidence.proven
    assert said in evidence.summary


def test_links_that_another_fault_hits_tell_nothing():
    cut = frozenset({("b1", "b2"), ("b2", "b1")})
    evidence = judge(USUAL, seen(b1_b2=[], b2_b1=[]), SLOW, cut, HOW)
    assert evidence.proven
    assert evidence.summary.startswith("round trips on 2 links take 200 ms")
    assert not judge(USUAL, seen(), SLOW, SLOW, HOW).proven, "nothing is left to tell of it"


def test_links_without_a_round_trip_before_tell_nothing():
    assert not judge({}, seen(), SLOW, NONE, HOW).proven


def test_a_slow_network_is_no_delay():
    far = {link: [400.0, 410.0] for link in USUAL}
    assert not judge(far, far, SLOW, NONE, HOW).proven
    later = {link: [570.0, 610.0] if link in SLOW else [401.0, 410.0] for link in USUAL}
    assert judge(far, later, SLOW, NONE, HOW).proven


def test_a_healed_network_is_as_quick_as_before():
    evidence = judge(USUAL, {link: [0.3, 0.5] for link in USUAL}, NONE, NONE, HOW)
    assert evidence.proven
    assert evidence.summary == "12 of 12 links are as quick as before"
    assert not judge(USUAL, seen(), NONE, NONE, HOW).proven


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"delay_ms": "4"}, "delay_ms 4: give a number of ms from 5 and up to 10000"),
        ({"delay_ms": "10001"}, "delay_ms 10001: give"),
        ({"jitter_ms": "-1"}, "jitter_ms -1: give a number of ms from 0 and up to 5000"),
        ({"delay_ms": "50", "jitter_ms": "26"}, "jitter_ms 26: give at most half of delay_ms, 25"),
        ({"delay_ms": "10"}, "jitter_ms 20: give at most half of delay_ms, 5"),
    ],
)
def test_wrong_parameters_are_one_line(given, said):
    with pytest.raises(UsageError) as error:
        params.read(DelayParams, given)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_parameters_at_their_edges():
    assert params.read(DelayParams, {"delay_ms": "5", "jitter_ms": "0"}) == DelayParams(5, 0)
    assert params.read(DelayParams, {"delay_ms": "10000", "jitter_ms": "5000"}) == DelayParams(10_000, 5_000)


class Gone:
    """Stands for a queue: hears which packets may go."""

    def __init__(self):
        self.last = 0

    def let_go(self, last):
        self.last = last


def test_packets_leave_in_their_order_and_each_within_its_bounds():
    line, queue, came, left = Line(100, 50), Gone(), {}, {}
    now_ms = 0
    for number in range(1, 2000):
        came[number] = now_ms
        line.come(queue, [(number, b"")], now_ms / 1e3)
        now_ms += 1
    gone = 0
    for later_ms in range(now_ms + 200):
        line.due(queue, later_ms / 1e3)
        for number in range(gone + 1, queue.last + 1):
            left[number] = later_ms
        gone = queue.last
    assert gone == 1999
    took = [left[number] - came[number] for number in came]
    assert min(took) >= 50
    assert max(took) <= 151
    assert len({round(one, -1) for one in took}) > 3, "the delay varies"
    assert line.wait_s(0) == 1.0
