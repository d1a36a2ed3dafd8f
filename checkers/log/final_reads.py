"""Was this queue's final drain complete? Judged from the history alone (SEMANTICS 10).

Two passes at least 5 s apart, after the last heal, with the cluster stable and nothing left that could still land, of
equal content, up to the broker's maximum. Each condition is proven from the history.
"""

from itertools import pairwise
from typing import Final

import msgspec
import numpy as np

from chaos.basics.name_lists import listed_all
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.models.log.words import FINAL, POPS, F
from chaos.storage.history import NEVER_NS
from chaos.storage.runinfo import Subject
from checkers.anomalies.findings import count_of, node_name
from checkers.history.check_input import Context, QueueShard
from checkers.history.clock_skew import replicas_skew
from checkers.history.columns import Ints, is_among
from checkers.history.leadership import LEADER
from checkers.history.log import Log
from checkers.history.timeline import Timeline

APART_NS: Final = 5 * NS_PER_S
STABLE_NS: Final = 5 * NS_PER_S
PATIENCE_NS: Final = 120 * NS_PER_S
"""So long may what was acknowledged stay out of sight before it is called lost."""


class Drained(msgspec.Struct, frozen=True):
    """The final reads of a queue. ``reason`` is empty if they are complete; ``last`` is the op of the last pass."""

    reason: str
    last: int
    minimum: int

    @property
    def complete(self) -> bool:
        """Whether the last pass is the queue's final content."""
        return not self.reason


def unstable(timeline: Timeline, at_ns: int, subject: Subject | None, readers: frozenset[str]) -> str:
    """What of a subject was not stable in the 5 s before an instant; empty if all was, or if no node leads.

    A node under a fault that was left in force may still say that it leads, since it was not told otherwise. It does
    not count where one other node says so, and ``readers``, who answered the final reads, are that node alone.
    """
    if subject is None:
        return ""
    since_ns = at_ns - STABLE_NS
    leaders = set()
    said = timeline.statements.get(subject.name, {})
    for node in sorted({*said, *subject.nodes}):
        tracks = {**said.get(node, {}), "role": timeline.words.get(node, ())}
        for what, stretches in tracks.items():
            # From the last statement before the window on, everything said must be the same.
            last_before = max((i for i, one in enumerate(stretches) if one.first_ns <= since_ns), default=0)
            heard = [one for one in stretches[last_before:] if one.first_ns <= at_ns and one.last_ns >= since_ns]
            before = [one for one in stretches[last_before : last_before + 1] if one.first_ns <= at_ns]
            if heard and len({str(one.said) for one in (*before, *heard)}) > 1:
                return f"{node}'s {what} changed within 5 s before the first pass"
            if what == LEADER and any(one.said == node for one in heard):
                leaders.add(node)
    if not leaders:
        return f"nobody was observed to lead {subject.name} in the 5 s before the first pass"
    spared = leaders - timeline.nodes_left()
    if len(spared) == 1 and readers == spared:
        return ""
    if len(leaders) > 1:
        return f"{listed_all(sorted(leaders))} said to lead {subject.name} in the 5 s before the first pass"
    return ""


def _passes(log: Log) -> Ints:
    ops = np.flatnonzero((log.f == F.DRAIN) & (log.type == Type.OK))
    return ops[np.argsort(log.of("complete_ns", ops), kind="stable")]


def _before_the_passes(log: Log, context: Context, key: int, first: int, readers: frozenset[str]) -> str:
    """What spoils a pair of passes whose first is ``first``: faults, open operations, an unstable cluster."""
    timeline, began_ns = context.timeline, int(log.invoke[first])
    healed_ns = timeline.last_heal_ns()
    if healed_ns == NEVER_NS:
        return "a fault was never healed"
    if healed_ns > began_ns:
        return "the first pass began before the last heal had ended"
    # What reads, and what is said of popped messages, leaves the log as it is.
    unanswered = np.flatnonzero(log.type == Type.INFO)
    open_ops = unanswered[~is_among(log.f[unanswered], (*FINAL, F.COMMITTED_READ, *POPS))]
    if not log.operations.none_above("deadline_ns", open_ops, began_ns):
        return (
            "the first of two final reads began too early: an operation without an answer was still within its "
            "deadline, so it could take effect behind that read"
        )
    scheduled = np.flatnonzero(log.f == F.SCHEDULE)
    delayed = scheduled[is_among(log.type[scheduled], (Type.OK, Type.INFO))]
    if not log.operations.none_above("argument", delayed, began_ns):
        return "the first pass began before the time of a delayed message"
    skew = replicas_skew(context)
    if not log.operations.none_above("argument", delayed, began_ns - skew.late_ns):
        return f"the first pass began before the time of a delayed message by the brokers' clocks, which {skew}"
    return unstable(timeline, began_ns, context.run.subject_of(key), readers)


def _judged(log: Log, context: Context, key: int) -> Drained:
    passes = _passes(log)
    if not len(passes):
        return Drained("no final read", -1, -1)
    last = int(passes[-1])
    return Drained(_why_not(log, context, key, passes, last), last, log.begin_of(last))


def _why_not(log: Log, context: Context, key: int, passes: Ints, last: int) -> str:
    """What is missing for completeness; empty if nothing is."""
    apart = passes[log.of("complete_ns", passes) + APART_NS <= log.invoke[last]]
    if not len(apart):
        return "only one pass" if len(passes) == 1 else "the passes are less than 5 s apart"
    first = int(apart[-1])
    between = passes[np.flatnonzero(passes == first)[0] :]
    if not all(log.same_records(int(a), int(b)) for a, b in pairwise(between)):
        return "the passes have different content"
    ended, maximum = log.told_of("next_offset", last), log.told_of("max_offset", last)
    if ended != maximum:
        return f"the last pass ended at {ended}, but the maximum is {maximum}"
    late = _not_there_yet(log, last)
    waited = _waited_in_vain(log, context, key, passes, last) if late else ""
    if waited:
        return f"{late}, and {waited}"
    readers = frozenset(node_name(context, int(log.node[op])) for op in between)
    return _before_the_passes(log, context, key, first, readers)


def _not_there_yet(log: Log, last: int) -> str:
    """What was acknowledged, is above the end or has no offset, and may yet come; empty if there is nothing."""
    highest = int(log.acked_place.max(initial=-1))
    maximum = log.told_of("max_offset", last)
    if maximum <= highest:
        return f"the maximum is {maximum}, but offset {highest} was acknowledged"
    unseen = int(np.count_nonzero(log.acked_place < 0))
    verb = "was" if unseen == 1 else "were"
    return f"{count_of(unseen, 'message')} acknowledged without an offset {verb} not read yet" if unseen else ""


def _waited_in_vain(log: Log, context: Context, key: int, passes: Ints, last: int) -> str:
    """Why a log that ends below an acknowledged offset may yet grow, or be the wrong node's; empty if neither.

    Equal passes for two minutes, all of them at the one node that says to lead the queue, in the newest epoch.
    """
    equal = last
    for op in passes[::-1]:
        if not log.same_records(int(op), last) or log.node[op] != log.node[last]:
            break
        equal = int(op)
    if int(log.invoke[last]) - int(log.complete[equal]) < PATIENCE_NS:
        return "no equal passes of one node were 120 s apart"
    reader, since_ns = node_name(context, int(log.node[last])), int(log.invoke[equal])
    subject = context.subject_of(key)
    reigns = context.timeline.reigns_over(subject)
    left = context.timeline.nodes_left()
    if any(reign.node != reader and reign.node not in left and reign.last_ns >= since_ns for reign in reigns):
        return f"another node said to lead {subject} during the passes"
    newest = max((reign.epoch for reign in reigns), default=None)
    if newest is None or context.timeline.epoch_of(reader, int(log.complete[last]), subject) != newest:
        return f"{reader} was not observed to lead in the newest epoch"
    return ""


def drain_of(shard: QueueShard, context: Context) -> Drained:
    """Judge one queue's final reads; worked out once per shard."""
    if "drain" not in shard.memo:
        shard.memo["drain"] = _judged(shard.log, context, shard.key)
    drained: Drained = shard.memo["drain"]
    return drained
