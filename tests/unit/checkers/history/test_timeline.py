"""Who led when, as far as observations tell."""

import msgspec
import pytest
from leading import said as heard

from chaos.core.clock import NS_PER_S
from chaos.core.events import DID_NOT_LAST, Claim, Evidence, Fault, Observation, Phase
from chaos.storage.history import NEVER_NS
from chaos.testing.history_files import ORIGIN_NS, RunLiteral, run_info
from checkers.history.leadership import speeches_of
from checkers.history.timeline import timeline_of


def at(second):
    return ORIGIN_NS + round(second * NS_PER_S)


def said(second, node, role, epoch, *, alive=True):
    return msgspec.structs.replace(heard(at(second), node, role, epoch), alive=alive)


def timeline(*events):
    return timeline_of(sorted(events, key=lambda event: event.time_ns), run_info(RunLiteral(), "timeline"))


@pytest.mark.parametrize(
    ("second", "epoch"),
    [(5, 1), (10, 1), (12, 1), (13, None), (20, None), (27, None), (28, 3), (35, 3), (42, 3), (60, None)],
    ids=[
        "inside",
        "last heard",
        "two periods after",
        "later",
        "between",
        "earlier",
        "two periods before",
        "inside again",
        "two periods after the last",
        "long after",
    ],
)
def test_epoch_of(second, epoch):
    reigns = [said(s, "b1", "master", 1) for s in range(11)] + [said(s, "b1", "master", 3) for s in range(30, 41)]
    assert timeline(*reigns, said(12, "b2", "master", 2)).epoch_of("b1", at(second)) == epoch


@pytest.mark.parametrize(("second", "epoch"), [(10.4, 4), (10.5, 4), (10.6, 6)])
def test_between_two_claims_the_nearer_one_says_the_epoch(second, epoch):
    assert timeline(said(10, "b1", "master", 4), said(11, "b1", "master", 6)).epoch_of("b1", at(second)) == epoch


@pytest.mark.parametrize(("second", "epoch"), [(10.9, 4), (11, None), (11.1, None), (11.9, None), (12.1, 6)])
def test_a_node_that_said_otherwise_in_between_led_in_no_known_epoch(second, epoch):
    words = [said(10, "b1", "master", 4), said(11, "b1", "slave", 4), said(12, "b1", "slave", 4)]
    assert timeline(*words, said(13, "b1", "master", 6)).epoch_of("b1", at(second)) == epoch


def test_a_node_that_never_led_has_no_epoch():
    assert timeline(said(1, "b1", "slave", 1)).epoch_of("b1", at(1)) is None


def test_a_silent_node_goes_on_with_its_claim():
    found = timeline(said(1, "b1", "master", 1), said(2, "b1", None, None, alive=False), said(3, "b1", "master", 1))
    assert [(reign.first_ns, reign.last_ns) for reign in found.reigns] == [(at(1), at(3))]


def test_no_epoch_yet_is_no_claim():
    assert timeline(said(1, "b1", "master", 0), said(2, "b1", "master", None)).reigns == ()


def decided(second, master, epoch, controller="c1", term=1):
    return heard(at(second), controller, "leader", term, master=master, decided=epoch)


@pytest.mark.parametrize(
    ("decisions", "epoch"),
    [
        ([], 1),
        ([(10, "b1", 2)], 2),
        ([(12, "b1", 2)], 2),
        ([(8, "b1", 2)], 2),
        ([(7, "b1", 2), (13, "b1", 2)], 1),
        ([(10, "b2", 2)], 1),
        ([(10, "b1", 2), (11, "b1", 1)], 1),
        ([(9, "b1", 4), (12, "b1", 3)], 4),
        ([(11, "b1", 0)], 1),
    ],
    ids=[
        "nobody said",
        "at once",
        "2 s later",
        "2 s before",
        "too far away",
        "another master",
        "its own word confirmed",
        "the nearest",
        "never an earlier one",
    ],
)
def test_a_claim_is_of_the_epoch_that_controllers_decided(decisions, epoch):
    found = timeline(said(10, "b1", "master", 1), *(decided(*one) for one in decisions))
    assert [reign.epoch for reign in found.reigns if reign.node == "b1"] == [epoch]


@pytest.mark.parametrize(
    ("words", "decisions", "epochs"),
    [
        ({10: 1, 20: 1, 30: 1}, [(10, "b1", 4)], [4]),
        ({10: 1, 20: 3, 30: 3}, [(10, "b1", 4)], [4]),
        ({10: 1, 20: 5, 30: 5}, [(10, "b1", 4)], [4, 5]),
        ({10: 2, 20: 1}, [(10, "b1", 4)], [4, 1]),
        ({10: 1, 20: 1}, [(10, "b1", 4), (20, "b1", 2)], [4, 2]),
        ({10: 1, 20: 1}, [(10, "b1", 4, "c2", 2), (20, "b1", 1, "c1", 1)], [4]),
        ({10: 1, 20: 1}, [(10, "b1", 4), (20, "b1", 1), (20, "b1", 4)], [4]),
    ],
    ids=[
        "nobody is heard any more",
        "its word comes nearer",
        "its word goes beyond",
        "its word goes back",
        "the controllers go back",
        "a controller of an earlier term wakes",
        "one of two says the same",
    ],
)
def test_what_was_decided_goes_on_to_hold_while_a_master_repeats_its_word(words, decisions, epochs):
    claims = [said(second, "b1", "master", word) for second, word in words.items()]
    found = timeline(*claims, *(decided(*one) for one in decisions))
    assert [reign.epoch for reign in found.reigns if reign.node == "b1"] == epochs


def test_what_was_decided_holds_after_a_master_was_none_for_a_while():
    found = timeline(
        said(10, "b1", "master", 1), decided(10, "b1", 4), said(20, "b1", "slave", 1), said(30, "b1", "master", 1)
    )
    assert [(reign.epoch, reign.first_ns) for reign in found.reigns if reign.node == "b1"] == [(4, at(10)), (4, at(30))]


def stage(second, name, *, proven=None, words=""):
    seen = None if proven is None else Evidence(kind="look", proven=proven, summary=words)
    return Fault(time_ns=at(second), id=1, name="leader-kill", stage=name, targets=("b1",), evidence=seen)


def test_the_first_heal_ends_a_faults_time_and_the_proven_one_its_force():
    begun = [stage(1, "inject"), stage(2, "active", proven=True), stage(5, "heal", proven=True)]
    first = [*begun, stage(6, "healed", proven=False, words="b1 is dead")]
    (fault,) = timeline(*first).faults
    assert (fault.heal_ns, fault.healed_ns, fault.healed) == (at(5), at(6), False)
    assert (fault.lasted, fault.in_force_until_ns()) == (True, NEVER_NS)
    (fault,) = timeline(*first, stage(20, "heal"), stage(21, "healed", proven=True, words="b1 serves")).faults
    assert (fault.heal_ns, fault.healed_ns, fault.healed) == (at(5), at(21), True)
    assert (fault.lasted, fault.in_force_until_ns(), fault.heal_evidence) == (True, at(21), "b1 serves")


@pytest.mark.parametrize("proven", [None, False])
def test_a_fault_that_was_not_looked_at_again_before_its_heal_is_not_known_to_have_lasted(proven):
    seen = [stage(1, "inject"), stage(2, "active", proven=True), stage(5, "heal", proven=proven)]
    (fault,) = timeline(*seen, stage(6, "healed", proven=True)).faults
    assert (fault.proven, fault.lasted, fault.healed) == (True, False, True)


def test_a_fault_that_broke_is_unproven_whatever_was_seen():
    seen = Evidence(kind="matrix", proven=True, summary="cut")
    found = timeline(
        Fault(time_ns=at(1), id=1, name="random-partition", stage="inject"),
        Fault(time_ns=at(2), id=1, name="random-partition", stage="broke", note="no route to b2"),
        Fault(time_ns=at(3), id=1, name="random-partition", stage="active", evidence=seen),
    )
    assert not found.faults[0].proven
    assert "no route to b2" in found.faults[0].note
    assert found.last_heal_ns() == NEVER_NS


def test_a_fault_that_had_ended_before_its_heal_is_not_proven():
    seen = Evidence(kind="proc", proven=True, summary="pid 7 gone")
    early = msgspec.structs.replace(seen, details={DID_NOT_LAST: {"b1": "something else started it as pid 9"}})
    stages = (("inject", None), ("active", seen), ("heal", seen), ("healed", early))
    events = [
        Fault(time_ns=at(i), id=1, name="leader-kill", stage=stage, targets=("b1",), evidence=evidence)
        for i, (stage, evidence) in enumerate(stages)
    ]
    (span,) = timeline(*events).faults
    assert (span.proven, span.healed) == (False, True)
    assert span.note == "broke: did not last: b1 something else started it as pid 9"


# ---------------------------------------------------------------- several subjects


def claiming(second, node, *claims):
    claims = tuple(Claim(subject=subject, leader=leader, epoch=epoch) for subject, leader, epoch in claims)
    return Observation(time_ns=at(second), asked_ns=at(second), node=node, alive=True, claims=claims)


def test_each_subject_has_reigns_of_its_own():
    found = timeline(
        claiming(1, "b1", ("p0", "b1", 1), ("p1", "b2", 7)),
        claiming(2, "b1", ("p0", "b1", 1), ("p1", "b1", 8)),
        claiming(3, "b1", ("p1", "b1", 8)),
    )
    spans = {(one.subject, one.epoch): (one.first_ns, one.last_ns, one.not_after_ns) for one in found.reigns}
    assert spans == {("p0", 1): (at(1), at(2), at(3)), ("p1", 8): (at(2), at(3), NEVER_NS)}
    assert found.epoch_of("b1", at(2), "p0") == 1
    assert found.epoch_of("b1", at(2), "p1") == 8
    assert [reign.word for reign in found.reigns] == ["leader", "leader"], "the node has no word of its own"


def test_a_node_that_does_not_say_who_leads_changes_nothing():
    silence = Observation(time_ns=at(2), asked_ns=at(2), node="b1", alive=True, role="broker")
    (reign,) = timeline(claiming(1, "b1", ("p0", "b1", 1)), silence, claiming(3, "b1", ("p0", "b1", 1))).reigns
    assert (reign.first_ns, reign.last_ns) == (at(1), at(3))


def test_a_thousand_subjects_cost_their_changes_alone():
    """Each of 600 rounds names 1000 subjects: what is the same again must not be gone through."""
    quiet = tuple((f"p{i}", "b1", 1) for i in range(1000))
    events = [claiming(second, "b1", *quiet) for second in range(2)]
    same = [msgspec.structs.replace(events[0], time_ns=at(s), asked_ns=at(s)) for s in range(2, 600)]
    steps = list(speeches_of([*events, *same])["b1"])
    assert len(steps) == 1
    found = timeline(*events, *same)
    assert len(found.reigns) == 1000
    assert {reign.last_ns for reign in found.reigns} == {at(599)}


def phase(name, *edges):
    return [Phase(time_ns=at(number), name=name, edge=edge, ok=ok) for number, (edge, ok) in enumerate(edges)]


WELL = (("start", True), ("end", True))
BADLY = (("start", True), ("end", False))


@pytest.mark.parametrize(
    ("required", "events", "ended"),
    [
        (("drain",), phase("drain", *WELL), True),
        (("drain",), phase("drain", *BADLY), False),
        (("drain",), phase("drain", ("start", True)), False),
        (("drain",), phase("sweep", *WELL), False),
        (("sweep",), phase("sweep", *WELL), True),
        (("sweep", "drain"), phase("sweep", *WELL), False),
        (("sweep", "drain"), [*phase("sweep", *WELL), *phase("drain", *WELL)], True),
        ((), phase("drain", *BADLY), True),
    ],
)
def test_a_run_has_ended_once_every_phase_that_it_requires_ended_well(required, events, ended):
    run = msgspec.structs.replace(run_info(RunLiteral(), "x"), required_phases=required)
    assert timeline_of(events, run).final_phases_ended is ended
