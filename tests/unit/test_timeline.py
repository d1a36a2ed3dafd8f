"""Who led when, as far as observations tell."""

import pytest

from chaos.core.clock import NS_PER_S
from chaos.core.events import Evidence, Fault, Observation
from chaos.core.history import NEVER_NS
from chaos.testing import ORIGIN_NS, RunLiteral, run_info
from checkers.timeline import timeline_of


def at(second):
    return ORIGIN_NS + second * NS_PER_S


def said(second, node, role, epoch, *, alive=True):
    return Observation(
        time_ns=at(second), asked_ns=at(second), node=node, alive=alive, role=role, epoch=epoch, subject="group"
    )


def timeline(*events):
    return timeline_of(sorted(events, key=lambda event: event.time_ns), run_info(RunLiteral(), "timeline"))


@pytest.mark.parametrize(
    ("second", "epoch"),
    [(5, 1), (10, 1), (11, 1), (20, 3), (35, 3), (60, 3)],
    ids=["inside", "last heard", "shortly after", "the next to be heard", "inside again", "long after"],
)
def test_epoch_of(second, epoch):
    reigns = [said(s, "b1", "master", 1) for s in range(11)] + [said(s, "b1", "master", 3) for s in range(30, 41)]
    assert timeline(*reigns, said(12, "b2", "master", 2)).epoch_of("b1", at(second)) == epoch


def test_a_node_that_never_led_has_no_epoch():
    assert timeline(said(1, "b1", "slave", 1)).epoch_of("b1", at(1)) is None


def test_a_silent_node_goes_on_with_its_claim():
    found = timeline(said(1, "b1", "master", 1), said(2, "b1", None, None, alive=False), said(3, "b1", "master", 1))
    assert [(claim.first_ns, claim.last_ns) for claim in found.claims] == [(at(1), at(3))]


def test_no_epoch_yet_is_no_claim():
    assert timeline(said(1, "b1", "master", 0), said(2, "b1", "master", None)).claims == ()


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
