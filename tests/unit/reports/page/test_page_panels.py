"""Events and series as intervals and lines."""

from typing import Any

import msgspec
import synthetic
from leading import said
from synthetic import ns

from chaos.core.events import Claim, Evidence, Fault, Observation, Phase
from chaos.storage.runinfo import Subject
from reports.page import panels

RUN = synthetic.run_info("valid")


def seen(node: str, at: float, **more: Any) -> Observation:
    offsets = more.pop("max_offsets", None)
    return msgspec.structs.replace(said(ns(at), node, group=synthetic.GROUP, **more), max_offsets=offsets)


def strip_of(events: list[Any], name: str, end: float = 20.0) -> list[tuple[float, float, str, str]]:
    strips, _ = panels.strips_and_changes(events, RUN, synthetic.ORIGIN, end)
    strip = next(strip for strip in strips if strip.name == name)
    return [(i.start, i.end, i.tone, i.label) for i in strip.intervals]


def test_equal_observations_are_one_interval_and_roles_have_their_epoch() -> None:
    events = [seen("b1", t, role="master", epoch=1) for t in range(3)]
    events += [seen("b1", t, role="slave", epoch=2) for t in range(3, 6)]
    assert strip_of(events, "b1") == [(0.0, 3.0, "lead", "master, epoch 1"), (3.0, 6.0, "follow", "slave")]


def test_controllers_have_terms() -> None:
    assert strip_of([seen("c1", t, role="leader", epoch=4) for t in range(2)], "c1")[0][3] == "leader, term 4"


def test_a_silent_node_is_silent_from_when_it_was_asked() -> None:
    events: list[Any] = [seen("b1", t, role="slave") for t in range(3)]
    events.append(Observation(time_ns=ns(3.8), asked_ns=ns(3.0), node="b1", alive=False, error="no answer"))
    events += [seen("b1", t, role="slave") for t in range(4, 6)]
    assert [tuple(row[:3]) for row in strip_of(events, "b1")] == [
        (0.0, 3.0, "follow"),
        (3.0, 4.0, "silent"),
        (4.0, 6.0, "follow"),
    ]


def test_a_long_pause_is_blank() -> None:
    events = [seen("b1", t, role="slave") for t in (0, 1, 2, 3, 12, 13)]
    assert [row[:2] for row in strip_of(events, "b1")] == [(0.0, 4.0), (12.0, 14.0)]


def test_an_old_master_that_still_believes_is_superseded() -> None:
    events = [seen("b1", t, role="master", epoch=1) for t in range(8)]
    events += [seen("b2", t + 0.1, role="slave" if t < 4 else "master", epoch=1 if t < 4 else 2) for t in range(8)]
    assert [row[2] for row in strip_of(events, "b1")] == ["lead", "stale"]
    assert [row[2] for row in strip_of(events, "b2")] == ["follow", "lead"]
    _, changes = panels.strips_and_changes(events, RUN, synthetic.ORIGIN, 20.0)
    assert [(change.time, change.words) for change in changes] == [
        (0.0, "b1 is master, epoch 1"),
        (4.1, "b2 is master, epoch 2"),
    ]


def test_a_leader_whose_epoch_nobody_has_named_yet_is_not_superseded() -> None:
    events = [seen("b1", t, role="master", epoch=1) for t in range(4)]
    events += [seen("b2", t + 0.1, role="master", epoch=0 if t < 2 else 2) for t in range(4)]
    assert [(tone, label) for _, _, tone, label in strip_of(events, "b2")] == [
        ("lead", "master, epoch not known yet"),
        ("lead", "master, epoch 2"),
    ]


def test_leaders_of_two_subjects_do_not_supersede_each_other_and_are_told_apart() -> None:
    two = msgspec.structs.replace(RUN, subjects=(Subject(name="p0", keys=(0,)), Subject(name="p1", keys=(1,))))
    events = [
        Observation(time_ns=ns(t), asked_ns=ns(t), node=node, alive=True, claims=(claim,))
        for t in (0, 1)
        for node, claim in (
            ("b1", Claim(subject="p0", leader="b1", epoch=1)),
            ("b2", Claim(subject="p1", leader="b2", epoch=9)),
        )
    ]
    strips, changes = panels.strips_and_changes(events, two, synthetic.ORIGIN, 2.0)
    tones = {strip.name: [(i.tone, i.label) for i in strip.intervals] for strip in strips if strip.intervals}
    assert tones == {"b1": [("lead", "leader of p0, epoch 1")], "b2": [("lead", "leader of p1, epoch 9")]}
    assert [change.words for change in changes] == ["b1 is leader of p0, epoch 1", "b2 is leader of p1, epoch 9"]


def test_what_leads_many_subjects_is_counted() -> None:
    claims = tuple(Claim(subject=f"p{i}", leader="b1", epoch=1) for i in range(300))
    seen_once = Observation(time_ns=ns(0), asked_ns=ns(0), node="b1", alive=True, claims=claims)
    _, changes = panels.strips_and_changes([seen_once], RUN, synthetic.ORIGIN, 2.0)
    assert [change.words for change in changes] == ["b1 is leader of 300 subjects"]


def test_a_term_of_controllers_does_not_supersede_an_epoch_of_brokers() -> None:
    events = [seen("c1", 0.0, role="leader", epoch=9), seen("b1", 1.0, role="master", epoch=1)]
    assert strip_of(events, "b1")[0][2] == "lead"


def test_the_in_sync_set_is_the_leading_controllers_word() -> None:
    events = [seen("c1", t, role="leader", members=("b2", "b1", "b3") if t < 2 else ("b2", "b1")) for t in range(4)]
    events += [seen("b2", t + 0.5, role="master", members=("b9",)) for t in range(4)]
    assert strip_of(events, "in sync") == [(0.0, 2.0, "whole", "b1 b2 b3"), (2.0, 4.0, "shrunk", "b1 b2")]


def test_faults_of_a_run_that_was_never_judged_come_from_its_events() -> None:
    proof = Evidence(kind="probes", proven=True, summary="all dropped")
    events = [
        Fault(time_ns=ns(1), id=1, name="leader-kill", stage="inject", targets=("b1",)),
        Fault(time_ns=ns(2), id=1, name="leader-kill", stage="active", targets=("b1",), evidence=proof),
        Fault(time_ns=ns(9), id=2, name="leader-kill", stage="skipped"),
    ]
    first, second = panels.faults_of_events(events)
    assert (first.proven, first.evidence, first.heal_ns, first.targets) == (True, "all dropped", None, ("b1",))
    assert second.skipped
    assert second.inject_ns is None
    (healing,) = panels.faults_of_events(
        [*events[:2], Fault(time_ns=ns(5), id=1, name="leader-kill", stage="heal", evidence=proof)]
    )
    assert (healing.healed, healing.heal_evidence, healing.heal_ns) == (False, "", ns(5)), "a last look is no heal"
    (band,) = panels.fault_bands((first, second), synthetic.ORIGIN, 30.0)
    assert (band.start, band.end, band.healed, band.colour) == (1.0, 30.0, 30.0, "red")


def test_a_phase_that_never_ended_lasts_to_the_end_and_is_not_ok() -> None:
    events = [
        Phase(time_ns=ns(-9), name="deploy", edge="start"),
        Phase(time_ns=ns(0), name="load", edge="start"),
        Phase(time_ns=ns(5), name="load", edge="end"),
        Phase(time_ns=ns(5), name="drain", edge="start"),
    ]
    spans = panels.phase_spans(events, synthetic.ORIGIN, 9.0)
    assert [(s.name, s.start, s.end, s.ok) for s in spans] == [("load", 0, 5, True), ("drain", 5, 9, False)]


def test_a_final_phase_is_drawn_whatever_a_workload_calls_it() -> None:
    events = [
        Phase(time_ns=ns(0), name="load", edge="start"),
        Phase(time_ns=ns(5), name="load", edge="end"),
        Phase(time_ns=ns(5), name="tally", edge="start"),
        Phase(time_ns=ns(7), name="tally", edge="end"),
        Phase(time_ns=ns(7), name="collect", edge="start"),
    ]
    spans = panels.phase_spans(events, synthetic.ORIGIN, 9.0)
    assert [(s.name, s.start, s.end, s.ok) for s in spans] == [("load", 0, 5, True), ("tally", 5, 7, True)]
    assert panels.last_moment(events, None, synthetic.ORIGIN) == 7.0
