"""What faults wait for: names, when it has come, and rows that begin by it."""

import msgspec
import pytest

from chaos.core.errors import UsageError
from chaos.storage.runinfo import Subject
from cluster.host import NodeSpec
from cluster.leaders import Lead
from nemesis.occasions.occasion import Occasion, Seen, occasion_of, what_came
from nemesis.plan.plan import lanes, make_plan
from nemesis.plan.sequence import Step, Steps, plan_steps, round_s, scale_steps, wrong_with
from nemesis.targets.topology import Topology

KINDS = {"broker": "replica", "controller": "controller"}
NODES = [NodeSpec(name=name, role="broker") for name in ("b1", "b2", "b3")] + [NodeSpec(name="c1", role="controller")]
SUBJECTS = (
    Subject(name="brokers", kind="replica", nodes=("b1", "b2", "b3")),
    Subject(name="controllers", kind="controller", nodes=("c1",)),
)
TOPOLOGY = Topology.of(NODES, KINDS, SUBJECTS)
BEFORE = {"brokers": Lead(subject="brokers", leader="b1", epoch=3, members=("b1", "b2", "b3"), since_ns=100)}


def now(**changed):
    return {"brokers": msgspec.structs.replace(BEFORE["brokers"], **changed)}


def said(text, leads, acked_ns=0, line=None):
    return what_came(occasion_of(text, TOPOLOGY), TOPOLOGY, BEFORE, Seen(leads, acked_ns, line))


@pytest.mark.parametrize(
    ("text", "occasion"),
    [
        ("role-change", Occasion(kind="role-change", of=("brokers", "controllers"))),
        ("first-ack@brokers", Occasion(kind="first-ack", of=("brokers",))),
        ("out-of-sync", Occasion(kind="out-of-sync", of=("brokers",))),
        ("log:took over", Occasion(kind="log", of=("b1", "b2", "b3", "c1"), pattern="took over")),
        ("log:a:b@x@broker", Occasion(kind="log", of=("b1", "b2", "b3"), pattern="a:b@x")),
        ("log:a@x", Occasion(kind="log", of=("b1", "b2", "b3", "c1"), pattern="a@x")),
    ],
)
def test_names(text, occasion):
    assert occasion_of(text, TOPOLOGY) == occasion


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("rolechange", "did you mean role-change"),
        ("midnight", "no such occasion: role-change, first-ack, out-of-sync, log:REGEX"),
        ("role-change@nobody", "no such subject; there are brokers, controllers"),
        ("out-of-sync@controllers", "no such subject; there are brokers"),
        ("log:(", "give a regular expression"),
        ("log:", "give what the line holds"),
        ("log", "no such occasion"),
    ],
)
def test_names_that_are_none(text, error):
    with pytest.raises(UsageError, match=error.replace("(", r"\(")):
        occasion_of(text, TOPOLOGY)


def test_what_has_no_leaders_offers_no_change_of_them():
    with pytest.raises(UsageError, match="nothing has a leader here"):
        occasion_of("role-change", Topology.of(NODES, KINDS))


def test_a_change_of_leader():
    assert said("role-change", BEFORE) is None
    assert said("role-change", now(members=("b1",), since_ns=200)) is None
    assert said("role-change", now(leader=None)) is None
    assert said("role-change", {}) is None
    assert said("role-change", now(epoch=None)) is None, "a controller names the dead one, and no epoch"
    assert said("role-change", now(leader="b2", epoch=2)) is None, "somebody who has not heard of the newer leader"
    assert said("role-change", now(leader="b2", epoch=None)) == "b2 leads brokers, b1 did"
    assert said("role-change", now(leader="b2", epoch=4)) == "b2 leads brokers in epoch 4, b1 did"
    assert said("role-change", now(epoch=4)) == "b1 leads brokers in epoch 4, b1 did"


def test_the_first_acknowledgement_after_a_change():
    changed = now(leader="b2", epoch=4, since_ns=500)
    assert said("first-ack", changed, acked_ns=499) is None
    assert said("first-ack", BEFORE, acked_ns=499) is None
    assert said("first-ack", changed, acked_ns=501) is not None


def test_a_replica_that_is_not_in_sync():
    assert said("out-of-sync", BEFORE) is None
    assert said("out-of-sync", now(members=("b1", "b3"))) == "b2 not in sync with brokers"
    assert said("out-of-sync", now(leader=None, members=())) is None, "nobody knows who is in sync then"


def test_a_line():
    assert said("log:over", BEFORE) is None
    assert said("log:over", BEFORE, line=("b3", "took over")) == "b3 wrote: took over"


def planned(**changed):
    times = {"interval_s": 5.0, "duration_s": 3.0, "time_limit_s": 40.0, "when": "role-change", "within_s": 7.0}
    return make_plan("random-kill,leader-suspend", KINDS, NODES, seed=1, subjects=SUBJECTS, **(times | changed))


def test_rows_that_wait_come_one_after_the_other():
    rows = planned()
    assert [(row.at_s, row.within_s, row.duration_s, row.when) for row in rows] == [
        (5.0, 7.0, 3.0, "role-change"),
        (20.0, 7.0, 3.0, "role-change"),
    ]
    assert rows[-1].end_s == 30.0
    assert len(lanes(rows)) == 1
    names = [row.name for row in planned(when="", rhythm="even", time_limit_s=17.0)]
    assert [row.name for row in rows] == names, "the occasion changes no other draw"


def test_rows_that_may_overlap_while_they_wait_have_lanes_of_their_own():
    first, second = planned()
    assert len(lanes([first, msgspec.structs.replace(second, at_s=14.0)])) == 2


def test_a_wait_that_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="7 s of waiting for role-change"):
        planned(time_limit_s=14.0)
    with pytest.raises(UsageError, match="no such occasion"):
        planned(when="noon")


def test_steps_that_wait():
    wait = Step(nemesis="random-kill", after=1.0, duration=4.0, when="out-of-sync", within=10.0)
    asked = Steps(steps=(Step(nemesis="leader-kill", at=5.0, duration=3.0), wait))
    rows = plan_steps(asked, KINDS, NODES, time_limit_s=30.0, seed=1, subjects=SUBJECTS)
    assert [(row.at_s, row.when, row.within_s, row.end_s) for row in rows] == [
        (5.0, "", 0.0, 8.0),
        (9.0, "out-of-sync", 10.0, 23.0),
    ]
    assert round_s(asked.steps) == 23.0
    assert scale_steps(asked, 0.5, 0.0).steps[1] == msgspec.structs.replace(wait, after=0.5, duration=2.0, within=5.0)
    assert wrong_with(wait) is None
    for wrong in ({"within": 0.0}, {"when": ""}, {"within": float("inf")}):
        assert wrong_with(msgspec.structs.replace(wait, **wrong))
