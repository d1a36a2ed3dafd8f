"""What the faults of a run came to: how many there were, how often the leader of the replicas changed (SEMANTICS 12).

A *change of leadership*, or failover, is a replica that is heard to lead in a later epoch than any before, after the
load began. Figures and one assumption; does not judge any change.
"""

from typing import Final

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import Failover
from checkers.anomalies.findings import counted
from checkers.history.kernel import Context
from checkers.history.timeline import FaultSpan

_LEADER: Final = "leader"
_TARGETED: Final = ("replica", "controller")
HEARD_NS: Final = 2 * NS_PER_S
"""So long after it was last heard a leader still counts as one."""


def failovers(context: Context) -> tuple[Failover, ...]:
    """The changes of leadership since the load began, in order of time, as far as they were heard."""
    newest: dict[str | None, int] = {}
    out = []
    for claim in context.timeline.claims:
        if claim.kind != "replica":
            continue
        known = newest.get(claim.subject)
        if known is not None and claim.epoch > known and claim.first_ns >= context.timeline.origin_ns:
            out.append(Failover(node=claim.node, epoch=claim.epoch, at_ns=claim.first_ns))
        newest[claim.subject] = max(claim.epoch, known or 0)
    return tuple(out)


def campaign_words(context: Context) -> str:
    """``9 faults, 4 failovers``, or that no fault was asked for; the failovers only where leaders were heard at all."""
    faults = len(context.timeline.injected())
    if not context.run.planned_faults and not context.timeline.faults:
        return "no fault was asked for"
    heard = any(claim.kind == "replica" for claim in context.timeline.claims)
    return counted(faults, "fault") + (f", {counted(len(failovers(context)), 'failover')}" if heard else "")


def missing_failover(context: Context) -> str | None:
    """Why the faults aimed at the leader of the replicas showed nothing, None if they did or if there were none.

    Such a fault takes a node that was heard to lead away from everybody, for at least as long as the system says that
    another needs to take over; a system that says nothing of it is not expected to.
    """
    after_s = context.run.promises.fails_over_after_s
    if after_s <= 0 or failovers(context):
        return None
    took = [fault for fault in context.timeline.faults if _deposes(fault, after_s, context)]
    if not took:
        return None
    return (
        f"leadership never changed, though fault {took[0].id} ({took[0].name}) took the leader away for"
        f" {_lasted_s(took[0]):.1f} s and another is promised to take over after {after_s:g} s"
    )


def _deposes(fault: FaultSpan, after_s: float, context: Context) -> bool:
    run, what = context.run, fault.identity
    if what.selector != _LEADER or not what.nature.silences:
        return False
    kinds = {run.roles.get(role, "other") for role in what.roles}
    if what.nature.hits == "links":
        # Parted from the other replicas alone a leader stays known to the controllers.
        everybody = {run.roles.get(node.role, "other") for node in run.nodes} & set(_TARGETED)
        whole = not kinds or kinds >= everybody
    else:
        whole = not kinds or "replica" in kinds
    return whole and fault.proven and _lasted_s(fault) >= after_s and _led(fault, context)


def _lasted_s(fault: FaultSpan) -> float:
    """From the end of the act to the beginning of the heal."""
    if fault.active_ns is None or fault.heal_ns is None:
        return 0.0
    return (fault.heal_ns - fault.active_ns) / NS_PER_S


def _led(fault: FaultSpan, context: Context) -> bool:
    """Whether a target was heard to lead when the fault began."""
    at_ns = fault.inject_ns or 0
    return any(
        claim.kind == "replica" and claim.node in fault.targets and claim.first_ns <= at_ns <= claim.last_ns + HEARD_NS
        for claim in context.timeline.claims
    )
