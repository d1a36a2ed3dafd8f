"""Replicas compared after the load: what is a fork, what only lags, and what is not known."""

import msgspec
import pytest

from chaos.core.clock import NS_PER_S
from chaos.core.events import Evidence, Fault
from chaos.core.replica_data import DIFFERING_MOST, WHOLE, ReplicaData, data_in, notes_of
from chaos.storage.runinfo import Promises, Subject
from chaos.testing.history_files import ORIGIN_NS, run_info
from chaos.testing.history_literal import RunLiteral
from checkers.cluster.replica_data import ReplicaDataCheck
from checkers.history.check_input import Context
from checkers.history.timeline import timeline_of

NODES = ("b1", "b2", "b3")
AT_NS = ORIGIN_NS + 30 * NS_PER_S
CHECK = ReplicaDataCheck()
STARTED = Evidence(kind="process", proven=True, summary="b3 runs again")


def replica(node, position=100, digests=None, error="", **entries):
    own = {key.replace("_", "/"): content for key, content in entries.items()}
    return ReplicaData(node=node, subject="etcd", position=position, entries=own, digests=digests or {}, error=error)


def context_of(*found, promised=True, notes=None):
    events = [
        Fault(time_ns=ORIGIN_NS + 5 * NS_PER_S, id=1, name="major-kill", stage="inject", targets=("b3",)),
        Fault(time_ns=ORIGIN_NS + 9 * NS_PER_S, id=1, name="major-kill", stage="healed", evidence=STARTED),
        *(notes_of(found, AT_NS) if notes is None else notes),
    ]
    literal = run_info(RunLiteral(), "replicas")
    run = msgspec.structs.replace(
        literal,
        model="register",
        subjects=(Subject(name="etcd", nodes=NODES),),
        promises=Promises(replicas_read=promised),
    )
    return Context(run=run, streams=(), timeline=timeline_of(events, run))


def judged(*found, **more):
    context = context_of(*found, **more)
    assert CHECK.applies(context) is None
    return CHECK.conclude(None, context)


def test_replicas_that_hold_the_same():
    found = [replica(node, k0="7", k1="3", digests={"hash": "5"}) for node in NODES]
    row = judged(*found)
    assert (row.valid, row.found, row.examined) == (True, "all hold the same", "3 replicas")
    assert CHECK.held(None, {}, context_of(*found)).then == "3 replicas hold the same data"


def test_a_key_that_one_replica_holds_otherwise():
    row = judged(replica("b1", k0="7", k1="3"), replica("b2", k0="7", k1="3"), replica("b3", k0="7", k1="2"))
    assert (row.valid, row.found) == (False, "1 replica-fork")
    (example,) = row.anomalies["replica-fork"].examples
    assert example.sentence == (
        "after the load b3, 21.0 s after fault 1 (major-kill on b3) had ended, holds 2 under k1, where b1 and b2 "
        "hold 3; each has applied etcd up to 100"
    )
    assert example.node == "b3"
    assert {"node": "b3", "holds": "2"} in example.ops


def test_every_key_counts_and_one_that_is_missing_is_another_content():
    row = judged(replica("b1", k0="7", k1="3"), replica("b2", k0="7", k1="3"), replica("b3", k1="2", k2="1"))
    assert row.anomalies["replica-fork"].count == 3
    said = row.anomalies["replica-fork"].examples[0].sentence
    assert "holds nothing under k0, where b1 and b2 hold 7;" in said
    row = judged(replica("b1", k0=""), replica("b2", k0=""), replica("b3"))
    said = row.anomalies["replica-fork"].examples[0].sentence
    assert "holds nothing under k0, where b1 and b2 hold an empty value;" in said


def test_a_fork_that_only_the_systems_own_digest_shows():
    hashes = ("5", "5", "6")
    row = judged(*(replica(node, k0="7", digests={"hash at 9": h}) for node, h in zip(NODES, hashes, strict=True)))
    assert (row.valid, row.anomalies["replica-fork"].count) == (False, 1)
    assert "b3, 21.0 s after fault 1 (major-kill on b3) had ended, gives 6 as hash at 9, where b1 and b2 give 5;" in (
        row.anomalies["replica-fork"].examples[0].sentence
    )


def test_digests_of_other_names_are_not_compared():
    row = judged(*(replica(node, k0="7", digests={f"hash {node}": node}) for node in NODES))
    assert row.valid is True


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (replica("b3", 90, k0="6"), "not compared: b3, it has applied 10 less than another"),
        (replica("b3", error="connect: refused"), "not compared: b3, connect: refused"),
        (None, "not compared: b3, it was not asked"),
    ],
)
def test_a_replica_that_cannot_be_compared_is_no_fork_and_no_equal(last, why):
    found = [replica("b1", k0="7"), replica("b2", k0="7"), *([] if last is None else [last])]
    row = judged(*found)
    assert (row.valid, row.reason) == ("unknown", why)
    assert row.found == f"all hold the same; {why}"
    assert judged(*found, promised=False).valid is True, "a system that does not promise it need not"


def test_two_that_lag_equally_are_compared_with_each_other():
    row = judged(replica("b1", 120, k0="8"), replica("b2", k0="7"), replica("b3", k0="6"))
    assert row.anomalies["replica-fork"].count == 1
    assert "not compared: b1, no other has applied as much" in row.found


def test_what_was_said_last_counts():
    early = notes_of([replica("b1", k0="7"), replica("b2", k0="7"), replica("b3", k0="6")], AT_NS - 1)
    late = notes_of([replica(node, k0="7") for node in NODES], AT_NS)
    assert judged(notes=[*early, *late]).valid is True


def test_without_notes():
    row = judged()
    assert (row.valid, row.reason) == ("unknown", "no replica was asked for its data after the load")
    assert CHECK.conclude(None, context_of(promised=False)) is None, "nothing to judge was recorded"
    assert CHECK.held(None, {}, context_of()).beside == ""
    failed = [replica(node, error="away") for node in NODES]
    assert CHECK.held(None, {}, context_of(*failed)).beside == "replicas were not compared"


def test_notes_keep_what_differs_and_digests_of_the_rest():
    many = {f"k{number:04}": "same" for number in range(1000)}
    one, other = replica("b1", **many, z0="x" * 200), replica("b2", **many, z0="x" * 199 + "y")
    first, second = (data_in(note) for note in notes_of([one, other], AT_NS))
    assert [*first.entries] == [*second.entries] == ["z0"]
    assert first.entries != second.entries, "a long content that differs at its end still does"
    assert len(first.entries["z0"]) < 100
    assert first.digests[WHOLE] != second.digests[WHOLE]
    assert data_in(notes_of([one], AT_NS)[0]).entries == {}


def test_of_very_many_differences_all_are_counted():
    one, other = (replica(node, **{f"k{n:04}": node for n in range(DIFFERING_MOST + 50)}) for node in ("b1", "b2"))
    row = judged(one, other, promised=False)
    assert row.anomalies["replica-fork"].count == DIFFERING_MOST + 50
    assert len(one.entries) > DIFFERING_MOST


def test_replicas_of_logs_are_read_as_logs():
    run = run_info(RunLiteral(), "log")
    context = Context(run=run, streams=(), timeline=timeline_of([], run))
    assert CHECK.applies(context) == "a log's replicas are read as logs"
