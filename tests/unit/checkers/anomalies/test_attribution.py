"""Which node in which role, and which fault: the words every sentence about an anomaly is made of."""

import msgspec
import pytest
from leading import said as heard

from chaos.basics.name_lists import join_names, listed_all
from chaos.core.clock import NS_PER_S
from chaos.core.events import Evidence, Fault
from chaos.testing.history_files import CONTROLLERS, ORIGIN_NS, run_info
from chaos.testing.history_literal import RunLiteral
from checkers.anomalies.attribution import actor, fault_name, find_blame, role_at
from checkers.anomalies.findings import NO_NODE, numbers
from checkers.history.check_input import Context
from checkers.history.timeline import FaultSpan, timeline_of


def ns(at_s):
    return ORIGIN_NS + round(at_s * NS_PER_S)


def context_of(faults=(), said=(), epoch_word=""):
    """``faults``: (id, name, targets, from, to or None). ``said``: (second, node, role, epoch)."""
    events = []
    for number, name, targets, start, end in faults:
        events.append(Fault(time_ns=ns(start), id=number, name=name, stage="inject", targets=targets))
        if end is not None:
            gone = Evidence(kind="matrix", proven=True, summary="all probes arrive again")
            events.append(Fault(time_ns=ns(end), id=number, name=name, stage="healed", targets=targets, evidence=gone))
    events += [heard(ns(at_s), node, role, epoch) for at_s, node, role, epoch in said]
    run = run_info(RunLiteral(), "blame")
    subjects = (msgspec.structs.replace(run.subjects[0], epoch_word=epoch_word), *run.subjects[1:])
    run = msgspec.structs.replace(run, subjects=subjects)
    return Context(run=run, streams=(), timeline=timeline_of(sorted(events, key=lambda one: one.time_ns), run))


KILL = (1, "leader-kill", ("b1",), 5.0, 10.0)
CUT = (2, "random-partition", ("b2", "c1"), 20.0, 25.0)
SLOW = (3, "all-loss", ("b1", "b2", "b3", "c1", "c2"), 40.0, None)


@pytest.mark.parametrize(
    ("node", "at_s", "words", "fault"),
    [
        ("b1", 4.0, "b1", None),
        ("b1", 7.0, "b1, killed by fault 1 (leader-kill) at 5.0 s", 1),
        ("b2", 7.0, "b2, while b1 was killed by fault 1 (leader-kill, since 5.0 s)", 1),
        ("b1", 12.0, "b1, 2.0 s after fault 1 (leader-kill on b1) had ended", 1),
        ("b2", 22.0, "b2, cut off by fault 2 (random-partition) at 20.0 s", 2),
        ("b3", 30.0, "b3, 5.0 s after fault 2 (random-partition on b2 and c1) had ended", 2),
        ("b2", 50.0, "b2, hit by fault 3 (all-loss) at 40.0 s", 3),
        ("c3", 50.0, "c3, while b1, b2, b3 and 2 more were hit by fault 3 (all-loss, since 40.0 s)", 3),
    ],
)
def test_a_fault_that_came_before_is_named(node, at_s, words, fault):
    who = actor(context_of([KILL, CUT, SLOW]), node, ns(at_s))
    assert (who.words, who.fault) == (words, fault)
    assert who.subject == (words if fault is None else f"{words},")


def test_a_fault_that_hit_the_node_goes_before_a_later_one_that_did_not():
    both = context_of([(1, "leader-partition", ("b1",), 5.0, 30.0), (2, "random-kill", ("b2",), 10.0, 15.0)])
    assert actor(both, "b1", ns(12.0)).fault == 1
    assert actor(both, "b3", ns(12.0)).fault == 2


def test_for_what_is_lost_the_next_fault_of_the_node_counts():
    context = context_of([KILL, CUT])
    assert find_blame(context, "b2", ns(11.0), ns(12.0)).fault.id == 1
    assert find_blame(context, "b2", ns(11.0), ns(12.0), later=True).fault.id == 2
    assert find_blame(context, "b3", ns(1.0), ns(2.0), later=True) is None


def test_a_fault_that_was_not_in_force_is_told_apart_from_an_acknowledgement():
    context = context_of([KILL, CUT])
    later = actor(context, "b2", ns(12.0), later=True)
    assert (later.words, later.fault) == ("b2", 2)
    assert later.then == ", and was cut off by fault 2 (random-partition) at 20.0 s"
    over = actor(context, "b1", ns(12.0), later=True)
    assert (over.words, over.then, over.fault) == ("b1", ", 2.0 s after fault 1 (leader-kill on b1) had ended", 1)
    during = actor(context, "b1", ns(7.0), later=True)
    assert (during.words, during.then) == ("b1, killed by fault 1 (leader-kill) at 5.0 s", "")


def test_roles_are_told_as_far_as_they_were_heard():
    said = [
        (1.0, "b1", "master", 1),
        (9.0, "b1", "master", 1),
        (10.0, "b1", "slave", None),
        (20.0, "b1", "slave", None),
    ]
    said += [(12.0, "b2", "master", 2), (20.0, "b2", "master", 2), (1.0, "b3", "none", None), (9.0, "b3", "none", None)]
    context = context_of(said=said)
    assert role_at(context, "b1", ns(5.0), leads=False) == "master of epoch 1"
    assert role_at(context, "b1", ns(15.0), leads=True) == "slave", "it answered as a master and was none"
    assert role_at(context, "b2", ns(11.5), leads=True) == "master of epoch 2", "heard of after it had begun to lead"
    assert role_at(context, "b2", ns(11.5), leads=False) == ""
    assert role_at(context, "b3", ns(5.0), leads=False) == ""
    assert actor(context, "b2", ns(15.0)).words == "b2, master of epoch 2"


def test_an_unknown_node_is_no_fact():
    assert actor(context_of([KILL]), NO_NODE, ns(7.0)).example("").node is None
    assert actor(context_of([KILL]), "b3", ns(7.0)).example("").node == "b3"


def test_names_in_a_row():
    assert [join_names(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    assert join_names(()) == ""
    subjects = [listed_all(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])]
    assert subjects == ["a", "a and b both", "a, b and c all"]
    assert [numbers("queue", which) for which in ({3}, {2, 0}, {0, 3, 2})] == [
        "queue 3",
        "queues 0 and 2",
        "queues 0, 2 and 3",
    ]
    assert fault_name(FaultSpan(id=4, name="bridge")) == "fault 4 (bridge)"


@pytest.mark.parametrize(("at_s", "fault", "hit"), [(15.0, 2, True), (10.4, 1, False), (19.5, 2, True)])
def test_for_a_loss_the_nearer_of_the_fault_before_and_the_fault_after_is_named(at_s, fault, hit):
    both = context_of([(1, "random-loss", ("b1", "b2"), 5.0, 10.0), (2, "leader-kill", ("b1",), 20.0, 25.0)])
    blame = find_blame(both, "b1", ns(at_s), ns(at_s), later=True)
    assert (blame.fault.id, blame.hit) == (fault, hit)
    assert find_blame(both, "b1", ns(at_s), ns(at_s)).fault.id == 1, "what came later did nothing yet"


def test_for_a_loss_under_a_fault_of_links_that_is_still_in_force_it_is_told_so():
    both = context_of([(1, "random-loss", ("b2",), 5.0, 10.0), (2, "leader-kill", ("b1",), 20.0, 25.0)])
    blame = find_blame(both, "b1", ns(7.0), ns(7.1), later=True)
    assert (blame.fault.id, blame.hit, blame.during) == (1, False, True)


def test_for_a_loss_after_a_fault_of_links_that_one_is_named_whoever_was_its_target():
    both = context_of([(1, "random-loss", ("b2",), 20.0, 40.0), (2, "random-loss", ("b1",), 100.0, 120.0)])
    assert find_blame(both, "b1", ns(41.0), ns(41.2), later=True).fault.id == 1
    killed = context_of([(1, "random-kill", ("b2",), 20.0, 40.0), (2, "random-loss", ("b1",), 100.0, 120.0)])
    assert find_blame(killed, "b1", ns(41.0), ns(41.2), later=True).fault.id == 2


def test_the_active_controller_is_the_one_of_the_newest_term_that_was_heard_lately():
    told = [(at_s, "c1", "leader", 1) for at_s in (1, 2, 3, 4, 5)] + [(at_s, "c2", "leader", 2) for at_s in (4, 5, 6)]
    timeline = context_of(said=told).timeline
    asked = {0.5: None, 1: "c1", 3.5: "c1", 4: "c2", 7.9: "c2", 8.1: None}
    assert {at_s: timeline.controller_at(ns(at_s)) for at_s in asked} == asked


def test_a_controller_that_said_that_it_follows_is_not_the_active_one():
    timeline = context_of(said=[(1, "c1", "leader", 1), (2, "c1", "leader", 1), (3, "c1", "follower", 2)]).timeline
    asked = {2.9: "c1", 3: None, 3.5: None}
    assert {at_s: timeline.controller_at(ns(at_s)) for at_s in asked} == asked


@pytest.mark.parametrize(("own", "words"), [("", "master of epoch 4"), ("term", "master of term 4")])
def test_leaders_are_numbered_in_the_words_of_their_system(own, words):
    context = context_of(said=[(1.0, "b1", "master", 4), (2.0, "b1", "master", 4)], epoch_word=own)
    assert role_at(context, "b1", ns(1.5), leads=True) == words
    assert context.run.epoch_word(CONTROLLERS) == "term"
    assert context.run.epoch_word("something that nobody named") == "epoch"
