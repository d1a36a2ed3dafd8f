"""What is missing after the last heal, and what a process left behind: the pure parts."""

import pytest
from leading import leads

from chaos.core.clock import NS_PER_S
from chaos.core.events import Observation
from chaos.run.wait_for_recovery import missing_now, silent_keys
from chaos.run.watching import Totals
from chaos.storage.runinfo import Promises, Subject
from cluster.leaders import Lead
from cluster.nodes.process_end import CpuTime, last_line, starved_share

HEALED_NS = 100 * NS_PER_S


def totals(last_sent, last_acked):
    def times(seconds):
        return {key: round(at_s * NS_PER_S) for key, at_s in seconds.items()}

    return Totals(
        changes={},
        rest={},
        worst_lag_s=0,
        worst_ack_s=0,
        last_ack_ns=0,
        in_flight=0,
        last_sent=times(last_sent),
        last_acked=times(last_acked),
    )


@pytest.mark.parametrize(
    ("last_sent", "last_acked", "silent"),
    [
        ({0: 110}, {0: 107}, ()),
        ({0: 110}, {0: 106.9}, (0,)),
        ({0: 110}, {}, (0,)),
        ({0: 102}, {0: 50}, ()),  # just healed
        ({0: 110, 1: 110}, {0: 110, 1: 90}, (1,)),
        ({}, {0: 50}, ()),  # no client that follows the route sends there
    ],
)
def test_a_queue_is_silent_while_its_sends_go_on_without_an_acknowledgement(last_sent, last_acked, silent):
    assert silent_keys(totals(last_sent, last_acked), HEALED_NS, 3.0) == silent


def test_nodes_are_missing_that_do_not_answer_or_that_are_not_in_sync():
    seen = {
        name: Observation(time_ns=1, asked_ns=1, node=name, alive=name != "c1") for name in ("c1", "b1", "b2", "b3")
    }
    group = (Subject(name="brokers", nodes=("b1", "b2", "b3")),)
    assert missing_now(seen, leads(members=("b1", "b3")), group, Promises(rejoins_within_s=1)) == ("c1", "b2")
    assert missing_now(seen, leads(), group, Promises()) == ("c1",), "no such set is promised"
    assert missing_now(seen, {}, (), Promises(rejoins_within_s=1)) == ("c1",), "nobody leads, so nobody follows"
    two = (Subject(name="brokers", nodes=("b1", "b2")), Subject(name="others", nodes=("b3",)))
    apart = leads(members=("b1", "b2")) | {"others": Lead(subject="others", leader="b3", members=())}
    assert missing_now(seen, apart, two, Promises(rejoins_within_s=1)) == ("c1", "b3")


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (b"", ""),
        (b"ready\nb1: data/log: damaged\n\n", "b1: data/log: damaged"),
        (b"Exception: disk full\n\tat a.b.C(D.java:3)\n\t... 12 more\n", "Exception: disk full"),
        (b"x" * 1000, "x" * 300),
    ],
)
def test_the_last_line_that_says_something(log, said):
    assert last_line(log) == said


def times(**threads):
    return {int(name[1:]): CpuTime(*pair) for name, pair in threads.items()}


def test_a_node_is_starved_by_what_all_its_threads_waited_for():
    assert starved_share(times(t1=(10, 5)), times(t1=(30, 65), t3=(0, 20)), 100) == 0.8
    assert starved_share({}, {}, 100) == 0.0


def test_work_that_moves_from_thread_to_thread_is_starved_though_no_thread_waits_long():
    after = {thread: CpuTime(1, 12) for thread in range(10)}
    assert max(one.waited_ns for one in after.values()) / 100 < 0.25
    assert starved_share({}, after, 100) == 120 / 130


def test_who_has_little_to_do_is_not_starved():
    assert starved_share({}, times(t1=(1, 24)), 100) == 0.0
    assert starved_share({}, times(t1=(9, 80)), 100) == 0.0
    assert starved_share({}, times(t1=(10, 80)), 100) == 80 / 90
    assert starved_share({}, times(t1=(90, 30)), 100) == 0.25
