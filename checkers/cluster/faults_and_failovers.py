"""What the faults of a run came to: how many there were, how often leaders of the replicas changed (SEMANTICS 12).

A *change of leadership*, or failover, is a replica that is heard to lead a subject in a later epoch than any before,
after the load began. Figures and one assumption; does not judge any change.
"""

from typing import Final

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.verdict import Failover
from checkers.anomalies.findings import count_of
from checkers.history.check_input import Context
from checkers.history.taken_away import kinds_hit, takes_away
from checkers.history.timeline import FaultSpan

_LEADER: Final = "leader"
HEARD_NS: Final = 2 * NS_PER_S
"""So long after it was last heard a leader still counts as one."""


def failovers(context: Context) -> tuple[Failover, ...]:
    """The changes of leadership since the load began, in order of time, as far as they were heard."""
    newest: dict[str, int] = {}
    out = []
    for reign in context.timeline.reigns:
        if reign.kind != "replica":
            continue
        known = newest.get(reign.subject)
        if known is not None and reign.epoch > known and reign.first_ns >= context.timeline.origin_ns:
            changed = Failover(node=reign.node, epoch=reign.epoch, at_ns=reign.first_ns, subject=reign.subject)
            out.append(changed)
        newest[reign.subject] = max(reign.epoch, known or 0)
    return tuple(out)


def campaign_words(context: Context) -> str:
    """``9 faults, 4 failovers``, or that no fault was asked for; the failovers only where leaders were heard at all."""
    faults = len(context.timeline.injected())
    if not context.run.planned_faults and not context.timeline.faults:
        return "no fault was asked for"
    heard = any(reign.kind == "replica" for reign in context.timeline.reigns)
    return count_of(faults, "fault") + (f", {count_of(len(failovers(context)), 'failover')}" if heard else "")


def missing_failover(context: Context) -> str | None:
    """Why the faults aimed at leaders of the replicas showed nothing, None if they did or if there were none.

    Such a fault takes a node that was heard to lead away from everybody, for at least as long as the system says that
    another needs to take over; a system that says nothing of it is not expected to. It showed something if one of the
    subjects that the node led changed its leader at any time of the run.
    """
    after_s = context.run.promises.fails_over_after_s
    if after_s <= 0:
        return None
    changed = {one.subject for one in failovers(context)}
    for fault in context.timeline.faults:
        led = _led(fault, context) if _deposes(fault, after_s, context) else []
        if led and changed.isdisjoint(led):
            several = f" of {join_names(led)}" if len(context.run.replicated) > 1 else ""
            return (
                f"leadership{several} never changed, though fault {fault.id} ({fault.name}) took the leader away for"
                f" {_lasted_s(fault):.1f} s and another is promised to take over after {after_s:g} s"
            )
    return None


def _deposes(fault: FaultSpan, after_s: float, context: Context) -> bool:
    if fault.identity.selector != _LEADER or not takes_away(fault, context):
        return False
    kinds = kinds_hit(fault, context)
    return (not kinds or "replica" in kinds) and fault.proven and _lasted_s(fault) >= after_s


def _lasted_s(fault: FaultSpan) -> float:
    """From the end of the act to the beginning of the heal."""
    if fault.active_ns is None or fault.heal_ns is None:
        return 0.0
    return (fault.heal_ns - fault.active_ns) / NS_PER_S


def _led(fault: FaultSpan, context: Context) -> list[str]:
    """The subjects of replicas that a target was heard to lead when the fault began."""
    at_ns = fault.inject_ns or 0
    return sorted(
        {
            reign.subject
            for reign in context.timeline.reigns
            if reign.kind == "replica"
            and reign.node in fault.targets
            and reign.first_ns <= at_ns <= reign.last_ns + HEARD_NS
        }
    )
