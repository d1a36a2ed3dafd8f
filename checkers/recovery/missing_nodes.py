"""Which nodes are missing after the last heal: ended by themselves, without an answer, or in no SyncStateSet.

Pure, from the timeline alone. The module does not decide what a busy machine excuses: ``checkers.recovery.recovery``
does.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.node_notes import ENDED, SILENT
from chaos.core.verdict import Example
from chaos.storage.history import NEVER_NS
from chaos.storage.runinfo import Subject
from checkers.anomalies.attribution import fault_name, role_at
from checkers.anomalies.findings import seconds_text
from checkers.history.check_input import Context
from checkers.history.leadership import MEMBERS, Stretch
from checkers.history.node_states import Ended
from checkers.history.timeline import FaultSpan

OUTSIDE: Final = "not in sync"
ANSWERS: Final = 4
"""So many of the sets that a node named are told."""

GRACE_MAX_NS: Final = 120 * NS_PER_S
"""The longest time that a kernel waits before it sends again what was not acknowledged."""


class Gap(NamedTuple):
    """From when to when something was missing."""

    from_ns: int
    to_ns: int


class Missing(NamedTuple):
    """A node that did not come back, until ``to_ns``.

    ``how``: ``ENDED``, ``SILENT`` or ``OUTSIDE``; ``excuse``: see ``Ended``. ``kept_out``: the example that
    blames whoever left it out of the SyncStateSet, for a node that holds all that it should; None if it is back in it.
    """

    node: str
    how: str
    to_ns: int
    example: Example
    excuse: str = ""
    kept_out: Example | None = None


def deadline_ns(context: Context, within_ns: int) -> int:
    """When what is promised within a time must be there.

    It counts from each fault's heal, and as long again as the fault lasted, two minutes at most: so long may a
    connection wait before it tries again, and so much has a node to catch up with. The heal is over when it was seen
    to be; where it was never seen, because a node did not come back, it counts from its beginning. A fault that was
    left in force on purpose has none.
    """
    ends = []
    for fault in context.timeline.injected():
        if not fault.identity.heals:
            continue
        heal_ns = NEVER_NS if fault.heal_ns is None else fault.heal_ns
        over_ns = fault.healed_ns if fault.healed and fault.healed_ns is not None else heal_ns
        ends.append(over_ns + min(heal_ns - (fault.inject_ns or 0), GRACE_MAX_NS))
    return max(ends, default=context.timeline.origin_ns) + within_ns


def missing_nodes(context: Context) -> tuple[Missing, ...]:
    """The nodes that did not come back, in the order of ``run.json``, each with the strongest that is known of it.

    Under a fault that was left in force only processes that ended are told: the rest is no promise then.
    """
    healed_ns = context.timeline.last_heal_ns() or context.timeline.origin_ns
    out: dict[str, Missing] = {one.node: one for one in _ended(context)}
    if healed_ns != NEVER_NS and not context.timeline.left_in_force():
        for found in (_silent(context, healed_ns), _outside(context, healed_ns)):
            for one in found:
                out.setdefault(one.node, one)
    return tuple(out[node.name] for node in context.run.nodes if node.name in out)


def last_hit(context: Context, node: str) -> FaultSpan | None:
    """The last fault that hit a node; if none did, the last one."""
    faults = context.timeline.injected()
    own = [fault for fault in faults if node in fault.targets]
    return own[-1] if own else faults[-1] if faults else None


def first_failed(context: Context, node: str) -> FaultSpan | None:
    """The fault from which on a node ended by itself each time that it was started; None if the last one healed it."""
    first: FaultSpan | None = None
    for fault in context.timeline.injected():
        if node in fault.targets:
            first = (first or fault) if fault.failed.get(node) == ENDED else None
    return first


def healed_words(context: Context, fault: FaultSpan | None) -> str:
    """``after fault 1 (leader-kill on b2) was healed at 12.0 s``."""
    if fault is None:
        return "although no fault was injected"
    return f"after fault {fault_name(fault).removeprefix('fault ')} was healed at " + seconds_text(
        context, fault.healed_ns or 0
    )


def is_explained(fault: FaultSpan, context: Context) -> bool:
    """Whether a heal is not proven because of nodes that did not come back, and for no other reason."""
    judged = bool(context.run.promises.recovers_within_s) and not context.run.interrupted
    return judged and bool(fault.failed) and set(fault.failed) <= {one.node for one in missing_nodes(context)}


def _ended(context: Context) -> Iterator[Missing]:
    nodes = context.timeline.nodes
    for one in nodes.ended:
        fault = last_hit(context, one.node)
        heard = nodes.heard.get(one.node, ())
        if any(stretch.answered and stretch.last_ns > one.seen_ns for stretch in heard):
            continue  # somebody has started it again
        if fault is not None and not fault.healed and fault.failed.get(one.node) not in (ENDED, SILENT):
            continue  # the harness did not bring it back; the assumptions say so
        yield Missing(one.node, ENDED, context.timeline.end_ns, _ended_example(context, one, fault), one.excuse)


def _ended_example(context: Context, one: Ended, fault: FaultSpan | None) -> Example:
    failed = first_failed(context, one.node)
    if failed is not None and failed.identity.nature.restarts:
        fault = failed
        what = f"{one.node}, started again when {fault_name(fault)} was healed at " + seconds_text(
            context, fault.heal_ns or 0
        )
        what += ", ended by itself before it served"
    else:
        what = f"{one.node} ended by itself, {healed_words(context, fault)}"
    answered = [stretch.last_ns for stretch in context.timeline.nodes.heard.get(one.node, ()) if stretch.answered]
    heard = f"; it last answered at {seconds_text(context, answered[-1])}" if answered else ""
    return Example(
        sentence=f"{what}; its last line: {one.last_line or '(none)'}{heard}",
        node=one.node,
        at_ns=one.seen_ns,
        fault=fault.id if fault is not None else None,
    )


def _gap(
    stretches: list[tuple[int, int]], healed_ns: int, end_ns: int, within_s: float, context: Context
) -> Gap | None:
    """When something was missing for longer than promised: from the heal on, or at the end; None if never.

    Args:
        stretches: when it was there, from and to, in order of time.
        healed_ns: the last heal.
        end_ns: until when was looked.
        within_s: the promise.
        context: for the faults.
    """
    within_ns = round(within_s * NS_PER_S)
    since = [(max(first, healed_ns), last) for first, last in stretches if last > healed_ns]
    gaps = [(healed_ns, since[0][0]), (since[-1][1], end_ns)] if since else [(healed_ns, end_ns)]
    over = (one for one in gaps if one[1] - one[0] > within_ns and one[1] > deadline_ns(context, within_ns))
    return next((Gap(*one) for one in over), None)


def _silent(context: Context, healed_ns: int) -> Iterator[Missing]:
    """Nodes that answered nothing for too long although others did."""
    within_s, heard = context.run.promises.recovers_within_s, context.timeline.nodes.heard
    for node, stretches in heard.items():
        answered = [(one.first_ns, one.last_ns) for one in stretches if one.answered]
        fault = last_hit(context, node)
        waited = fault is not None and fault.failed.get(node) == SILENT  # the heal itself waited for it
        since_ns = (fault.heal_ns or healed_ns) if fault is not None and waited else healed_ns
        gap = _gap(answered, since_ns, stretches[-1].last_ns, within_s, context)
        if gap is None:
            continue
        others = any(
            one.answered and one.first_ns < gap.to_ns and one.last_ns > gap.from_ns
            for name, own in heard.items()
            if name != node
            for one in own
        )
        sentence = (
            f"{node} answered nothing from {seconds_text(context, gap.from_ns)} to {seconds_text(context, gap.to_ns)}, "
            f"{healed_words(context, fault)}; {within_s:g} s are promised"
        )
        example = Example(
            sentence=sentence, node=node, at_ns=gap.from_ns, fault=fault.id if fault is not None else None
        )
        yield Missing(node, SILENT, gap.to_ns, example, _silence_excuse(node, gap, context, others=others))


def _silence_excuse(node: str, gap: Gap, context: Context, *, others: bool) -> str:
    """Why a node's silence may not be its own; empty if nothing says so.

    That the observer's packets reach it is known up to the last look at the links.
    """
    if not others:
        return "no node answered the observer"
    within_ns, looks = round(context.run.promises.recovers_within_s * NS_PER_S), context.timeline.nodes.looks
    if looks and min(gap.to_ns, looks[-1].time_ns) - gap.from_ns <= within_ns:
        return f"{node} fell silent after the harness had last looked whether every link is whole"
    return ""


def _outside(context: Context, healed_ns: int) -> Iterator[Missing]:
    """Replicas that were in no SyncStateSet for too long, as leaders say it; as controllers do if no leader speaks."""
    if not context.run.promises.rejoins_within_s:
        return
    for subject in context.run.replicated:
        yield from _outside_of(subject, context, healed_ns)


def _named(speaker: str, members: Sequence[str]) -> str:
    """The members that somebody named, for people."""
    return "itself alone" if list(members) == [speaker] else join_names(members) or "none"


def _outside_of(subject: Subject, context: Context, healed_ns: int) -> Iterator[Missing]:
    within_s = context.run.promises.rejoins_within_s
    said = _sets(subject.name, context, healed_ns)
    if not said:
        return
    speaker, newest = max(said, key=lambda pair: pair[1].last_ns)
    which = f"in no SyncStateSet of {subject.name}" if len(context.run.replicated) > 1 else "in no SyncStateSet"
    for node in subject.nodes or _members(subject.name, context):
        inside = sorted((one.first_ns, one.last_ns) for _, one in said if node in one.said)
        gap = _gap(inside, healed_ns, newest.last_ns, within_s, context)
        if gap is None:
            continue
        fault = last_hit(context, node)
        back = gap.to_ns < newest.last_ns
        named = "when it was in one again" if back else f"when {speaker} named {_named(speaker, newest.said)}"
        until = (
            f"{which} from {seconds_text(context, gap.from_ns)} to {seconds_text(context, gap.to_ns)}, {named}, "
            f"{healed_words(context, fault)}; {within_s:g} s are promised"
        )
        example = Example(
            sentence=f"{node} ran and was {until}",
            node=node,
            at_ns=gap.from_ns,
            fault=fault.id if fault is not None else None,
        )
        stands = role_at(context, speaker, newest.last_ns, leads=True, subject=subject.name)
        kept_out = msgspec.structs.replace(
            example,
            sentence=f"{node} was kept out by {f'{speaker}, {stands}' if stands else speaker}: {node} ran, held all "
            f"that the final reads show, and was {until}{_answers(speaker, said, context)}",
            node=speaker,
        )
        yield Missing(node, OUTSIDE, gap.to_ns, example, kept_out=None if back or speaker == node else kept_out)


def _answers(speaker: str, said: Sequence[tuple[str, Stretch]], context: Context) -> str:
    """What one node named over time: ``; b2 named itself alone until 13.7 s, b2 and b3 until 54.7 s``; empty of one."""
    own = [stretch for node, stretch in said if node == speaker]
    if len(own) == 1:
        return ""
    told = [f"{_named(speaker, one.said)} until {seconds_text(context, one.last_ns)}" for one in own[-ANSWERS:]]
    earlier = f" {len(own) - ANSWERS} other sets before, then" if len(own) > ANSWERS else ""
    return f"; {speaker} named{earlier} {', '.join(told)}"


def _members(subject: str, context: Context) -> list[str]:
    """Who was ever named among those in sync."""
    tracks = context.timeline.statements.get(subject, {}).values()
    return sorted({node for own in tracks for stretch in own.get(MEMBERS, ()) for node in stretch.said})


def _sets(subject: str, context: Context, healed_ns: int) -> list[tuple[str, Stretch]]:
    """Who named which SyncStateSet of a subject since the heal."""
    every = [
        (node, stretch)
        for node, own in context.timeline.statements.get(subject, {}).items()
        for stretch in own.get(MEMBERS, ())
        if stretch.last_ns > healed_ns
    ]
    return [one for one in every if one[0] in context.run.replicas] or every
