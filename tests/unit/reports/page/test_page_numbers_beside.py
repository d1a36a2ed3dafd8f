"""Numbers that stand beside each other on the page: what each counts, and times that would read alike."""

import msgspec
import pytest
import synthetic

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import Rto, Steady
from chaos.storage.runinfo import Subject
from checkers.anomalies.findings import digits_beside
from reports import words
from reports.page.availability import steady_words
from reports.page.build import led_words
from reports.page.context import brought_by_bug
from reports.page.faults import later_line

ORIGIN_NS = 100 * NS_PER_S


@pytest.mark.parametrize(
    ("at_s", "edges", "digits"),
    [(4.976, (5.0, 10.0), 3), (5.0, (5.0,), 1), (5.0004, (5.0,), 1), (4.9, (5.0,), 1), (14.951, (15.0,), 3)],
    ids=["reads alike", "is the edge", "is within a millisecond", "reads otherwise", "before a fault"],
)
def test_a_time_that_reads_like_a_faults_edge_has_the_digits_that_tell_them_apart(
    at_s: float, edges: tuple[float, ...], digits: int
) -> None:
    assert digits_beside(at_s, edges) == digits


def test_a_time_before_the_load_says_so() -> None:
    assert [words.moment(at_s) for at_s in (-0.3, -0.01, 4.0, None)] == ["0.3 s before the load", "0.0 s", "4.0 s", "—"]


def test_what_a_bug_brought_is_named_for_the_run_again() -> None:
    config = (
        "workload: queue                          # --bug slow-recovery\n"
        "rate: 50.0                               # option\n"
        "rto_budget_s: 10.0                       # --bug slow-recovery\n"
        "settings:\n"
        "  bug: slow-recovery                     # --bug slow-recovery\n"
    )
    assert brought_by_bug(config) == {"--workload": "queue", "--rto-budget": "10"}
    assert brought_by_bug("") == {}


def test_throughput_that_is_back_with_the_heal_is_back_at_once() -> None:
    assert steady_words(Steady(reached=True, seconds=0.0)) == "at once"
    assert steady_words(Steady(reached=True, seconds=2.0)) == "2.0 s"


def test_an_outage_that_began_after_the_heal_is_told() -> None:
    (fault, *_) = synthetic.results("valid").faults
    one = Rto(f="put", seconds=5.8, key=3, start_ns=ORIGIN_NS + round(23.4 * NS_PER_S), ok=1)
    said = later_line([msgspec.structs.replace(fault, later=(one,))], "space", ORIGIN_NS)
    assert said == (
        "later outages, begun after a heal: put 5.8 s (space 3, 23.4 s to 29.2 s, 1 in it was ok, never three in a row)"
        " after the heal of fault 1"
    )
    assert later_line([fault], "space", ORIGIN_NS) == ""


def test_the_keys_of_what_has_a_leader_are_told_where_there_are_several() -> None:
    run = synthetic.run_info("valid")
    two = (Subject(name="kv1", keys=(0, 3)), Subject(name="kv2", keys=(1,)))
    said = led_words(msgspec.structs.replace(run, subjects=two), "space")
    assert said == " Of what has a leader, kv1 has spaces 0 and 3; kv2 has space 1."
