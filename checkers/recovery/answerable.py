"""Which node to look at after an outage: a leader that was there and did not answer, else the active controller.

Only what observers heard counts. Does not say why a leader did not answer, or why none was chosen.
"""

from typing import NamedTuple

from chaos.core.clock import NS_PER_S
from checkers.anomalies.attribution import reign_words
from checkers.anomalies.contradictions import controllers_of
from checkers.anomalies.findings import seconds_text
from checkers.history.check_input import Context
from checkers.history.leadership import MEMBERS, Reign
from checkers.history.timeline import FaultSpan


class Answerable(NamedTuple):
    """The node to look at, and words that say why; a sentence begins with them and goes on with "after"."""

    node: str
    words: str


def answerable(context: Context, subject: str | None, start_ns: int, end_ns: int) -> Answerable | None:
    """The node to look at after an outage; None if nothing tells which.

    Args:
        context: for leaders and faults.
        subject: what stood still.
        start_ns: when the outage began.
        end_ns: when it ended, or the last that is known of it.
    """
    led = [(_led_ns(context, reign, start_ns, end_ns), reign) for reign in context.timeline.reigns_over(subject)]
    together_ns = sum(own_ns for own_ns, _ in led)
    if together_ns and 2 * together_ns >= end_ns - start_ns:
        _, reign = max(led, key=lambda one: (one[0], one[1].first_ns))
        since = f" from {seconds_text(context, reign.first_ns)}" if reign.first_ns > start_ns else ""
        return Answerable(reign.node, f"{reign.node}, {reign_words(reign, context)}{since}, did not answer")
    controller = context.timeline.controller_at(end_ns)
    if controller is None or not _majority_lived(context, subject, start_ns, end_ns):
        return None
    kept_apart = any(not own_ns and reign.first_ns < end_ns and reign.last_ns > start_ns for own_ns, reign in led)
    whom = f" {subject}" if len(context.run.replicated) > 1 else ""
    seconds = (end_ns - start_ns - together_ns) / NS_PER_S
    return Answerable(
        controller,
        f"under controller {controller} no {'other ' if kept_apart else ''}node led{whom} for {seconds:.1f} s",
    )


def _silencing(context: Context, start_ns: int, end_ns: int) -> list[FaultSpan]:
    """The faults in force in a stretch of time that keep nodes from hearing each other."""
    return [
        fault
        for fault in context.timeline.injected()
        if (fault.inject_ns or 0) < end_ns
        and fault.in_force_until_ns() > start_ns
        and (fault.identity.nature.cuts or fault.identity.nature.silences)
    ]


def _led_ns(context: Context, reign: Reign, start_ns: int, end_ns: int) -> int:
    """How long a node was heard to lead within a stretch of time, while no fault kept it from the others."""
    first, last = max(reign.first_ns, start_ns), min(reign.last_ns, end_ns)
    led_ns, free_ns = 0, first
    for fault in _silencing(context, first, last):
        if reign.node in fault.targets:
            led_ns += max(0, (fault.inject_ns or 0) - free_ns)
            free_ns = max(free_ns, min(last, fault.in_force_until_ns()))
    return led_ns + max(0, last - free_ns)


def _majority_lived(context: Context, subject: str | None, start_ns: int, end_ns: int) -> bool:
    """Whether most controllers reached each other and most of the nodes of a subject all the time.

    One of these nodes must have been in the SyncStateSet, as far as one was named before.
    """
    controllers = set(controllers_of(context))
    group = next((set(one.nodes) for one in context.run.replicated if one.name == subject and one.nodes), set())
    group = group or set(context.run.replicas)
    away: set[str] = set()
    for fault in _silencing(context, start_ns, end_ns):
        targets, nature = set(fault.targets), fault.identity.nature
        if not nature.silences:
            return False  # who reached whom is not known
        inside = nature.cuts and 2 * len(controllers & targets) > len(controllers)
        away |= (controllers | group) - targets if inside else targets
    lived, said = group - away, _last_set(context, subject, start_ns)
    return (
        2 * len(controllers - away) > len(controllers)
        and 2 * len(lived) > len(group)
        and (said is None or bool(lived & set(said)))
    )


def _last_set(context: Context, subject: str | None, at_ns: int) -> tuple[str, ...] | None:
    """The SyncStateSet that was named last before an instant; None if none was."""
    tracks = context.timeline.statements.get(subject or "", {}).values()
    said = [stretch for own in tracks for stretch in own.get(MEMBERS, ()) if stretch.first_ns <= at_ns]
    return max(said, key=lambda stretch: stretch.last_ns).said if said else None
