"""Replicas compared after the drain: one offset, one content, whoever is asked (SEMANTICS 15).

Every replica's own copy of a queue is read once the final reads are complete. Where two of them cover an offset and
differ there, the log has forked, even if no client ever met it; so has a copy that gives a record with a number not
above the one before. A copy that ends earlier lags: it is told, and is no fork. A copy whose read ended badly is
compared at the offsets that it gave, and says nothing of any other. The module does not compare copies of a queue whose
final reads are not complete, since the cluster may still be changing them, nor takes a copy that was not read for an
equal one.
"""

import itertools
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example
from chaos.models.log.words import F
from checkers.anomalies.attribution import actor
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    EXAMPLES,
    Finding,
    Findings,
    add_findings,
    conclude_findings,
    count_of,
    describe_operation,
    examples,
    findings,
    node_name,
    numbers,
    ranges_of,
)
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask
from checkers.history.last_answers import left_out
from checkers.log.final_reads import drain_of

UNCOVERED: Final = -3
NOTHING: Final = -2
DAMAGED: Final = -1
_SHIFT: Final = 40
_TWO: Final = 2


class ReplicaSummary(Findings, frozen=True, kw_only=True):
    """Findings; ``examined`` counts copies that were compared.

    ``short``: node → records that other replicas have behind the end of its copies. ``unread``: (node, why) → queues
    whose copy could not be had. ``asked``: copies asked for. ``uncompared``: queues with copies and no complete drain.
    """

    asked: int = 0
    short: dict[str, int] = msgspec.field(default_factory=dict)
    unread: dict[tuple[str, str], tuple[int, ...]] = msgspec.field(default_factory=dict)
    uncompared: tuple[int, ...] = ()


class Copy(NamedTuple):
    """One replica's copy: the operation that read it, and its rows by offset; ``end``: behind the last one covered.

    ``whole``: the read of it was ok; else it covers only the offsets that it gave. ``misnumbered``: the rows, as (the
    highest offset before, offset, content), whose offset is not above all before it; they are not among the others.
    """

    node: int
    op: int
    begin: int
    end: int
    offsets: Ints
    content: Ints
    whole: bool
    misnumbered: list[tuple[int, int, int]]


class Copies(NamedTuple):
    """All copies of a queue side by side: ``content[i, j]`` is what copy i has at ``offsets[j]``, or NOTHING."""

    copies: list[Copy]
    offsets: Ints
    content: Ints
    forked: Mask


def _replicas(context: Context, key: int) -> list[int]:
    """The places of the nodes that keep a queue, without those under a fault that was left in force."""
    own = set(context.run.replicas_of(key)) - context.timeline.nodes_left()
    return [i for i, node in enumerate(context.run.nodes) if node.name in own]


def _copy(shard: QueueShard, op: int) -> Copy:
    own, log, reads = shard.operations, shard.log, shard.reads
    mine = (reads["f"] == log.f[op]) & (reads["worker"] == own["worker"][op]) & (reads["op"] == own["op"][op])
    offsets = reads["offset"][mine]
    content = (reads["writer"][mine].astype(np.int64) << _SHIFT) | reads["sequence"][mine]
    content = np.where(reads["writer"][mine] < 0, DAMAGED, content)
    begin, whole = int(log.begin[op]), bool(log.type[op] == Type.OK)
    before = np.maximum.accumulate(np.concatenate(([begin - 1], offsets)))[:-1]
    risen = offsets > before
    odd = zip(before[~risen].tolist(), offsets[~risen].tolist(), content[~risen].tolist(), strict=True)
    end = max(int(log.next[op]), begin, int(offsets.max(initial=-1)) + 1) if whole else begin
    return Copy(int(own["argument"][op]), op, begin, end, offsets[risen], content[risen], whole, list(odd))


def copies_alike(shard: QueueShard, context: Context) -> dict[str, bool]:
    """For each replica whose own copy was asked for: whether it is all that the final reads show.

    Empty if no copy was asked for, or if the final reads are not complete.
    """
    log, own, drained = shard.log, shard.operations, drain_of(shard, context)
    asked = np.flatnonzero(log.f == F.REPLICA)
    if not len(asked) or not drained.complete:
        return {}
    final, out = _copy(shard, drained.last), {}
    for node in _replicas(context, shard.key):
        read = asked[(own["argument"][asked] == node) & (log.type[asked] == Type.OK)]
        copy = _copy(shard, int(read[-1])) if len(read) else None
        out[node_name(context, node)] = copy is not None and _same(copy, final)
    return out


def _same(copy: Copy, final: Copy) -> bool:
    """Whether a copy has what the final reads show; below their beginning it may have more."""
    kept = copy.offsets >= final.begin
    same = np.array_equal(copy.offsets[kept], final.offsets) and np.array_equal(copy.content[kept], final.content)
    return same and not copy.misnumbered


def side_by_side(copies: list[Copy]) -> Copies:
    """Copies laid beside each other; an offset is forked where two that cover it have not the same."""
    offsets = np.unique(np.concatenate([copy.offsets for copy in copies]))
    content = np.full((len(copies), len(offsets)), UNCOVERED, dtype=np.int64)
    for row, copy in zip(content, copies, strict=True):
        row[(offsets >= copy.begin) & (offsets < copy.end)] = NOTHING
        row[np.searchsorted(offsets, copy.offsets)] = copy.content
    covered = content != UNCOVERED
    lowest = np.where(covered, content, np.iinfo(np.int64).max).min(axis=0)
    highest = np.where(covered, content, np.iinfo(np.int64).min).max(axis=0)
    return Copies(copies, offsets, content, (covered.sum(axis=0) >= _TWO) & (lowest != highest))


def _said(content: int) -> str:
    if content == NOTHING:
        return "nothing"
    if content == DAMAGED:
        return "a damaged body"
    return f"{content >> _SHIFT}:{content & ((1 << _SHIFT) - 1)}"


class _Teller:
    """Forked offsets in words. The content that the last final read showed is the one that others differ from."""

    def __init__(self, shard: QueueShard, context: Context, copies: Copies) -> None:
        self._shard, self._context, self._copies = shard, context, copies
        last = drain_of(shard, context).last
        rows = shard.log.rows_of(last)
        self._final = dict(zip(shard.log.row_offset[rows].tolist(), shard.log.row_vid[rows].tolist(), strict=True))

    def example(self, at: int) -> Example:
        """One forked offset."""
        copies, context = self._copies, self._context
        offset, column = int(copies.offsets[at]), copies.content[:, at]
        by_content: dict[int, list[int]] = {}
        for i, content in enumerate(column.tolist()):
            if content != UNCOVERED:
                by_content.setdefault(content, []).append(i)
        shown = _said(NOTHING) if offset not in self._final else self._shard.log.value(self._final[offset])
        # The final read's side first, then the larger side.
        sides = sorted(by_content.items(), key=lambda one: (_said(one[0]) != shown, -len(one[1]), one[1]))
        (usual, many), (other, few) = sides[0], sides[1]
        odd = copies.copies[few[0]]
        read_ns = int(self._shard.log.complete[odd.op])
        subject = context.subject_of(self._shard.key)
        who = actor(context, node_name(context, odd.node), read_ns, subject=subject)
        names = join_names([node_name(context, copies.copies[i].node) for i in many])
        return who.example(
            f"after the drain {who.subject} holds {_said(other)} at offset {offset} of queue {self._shard.key}, where "
            f"{names} {'holds' if len(many) == 1 else 'hold'} {_said(usual)}",
            key=self._shard.key,
            offset=offset,
            value=_said(other) if other >= 0 else None,
            ops=(*self._reads(at, offset), *self._sends((other, usual))),
        )

    def _reads(self, at: int, offset: int) -> Iterator[dict[str, Any]]:
        """What each copy shows there."""
        for i, copy in enumerate(self._copies.copies):
            content = int(self._copies.content[i, at])
            if content != UNCOVERED:
                records = [f"{offset}={_said(content) if content >= 0 else '?'}"] if content != NOTHING else []
                whole = {"count": len(copy.offsets), "records": records}
                yield describe_operation(self._shard, self._context, copy.op, around=offset) | whole

    def _sends(self, contents: tuple[int, int]) -> Iterator[dict[str, Any]]:
        """The sends of what is there, as far as anybody sent it."""
        own, log = self._shard.operations, self._shard.log
        for content in contents:
            if content >= 0:
                writer, sequence = content >> _SHIFT, content & ((1 << _SHIFT) - 1)
                sent = log.sends[(own["writer"][log.sends] == writer) & (own["sequence"][log.sends] == sequence)]
                yield from (describe_operation(self._shard, self._context, int(send)) for send in sent[:1])


def _misnumbered(shard: QueueShard, context: Context, copies: list[Copy]) -> Iterator[Example]:
    """The rows of copies that have a number not above the one before, in words."""
    for copy in copies:
        subject = context.subject_of(shard.key)
        who = actor(context, node_name(context, copy.node), int(shard.log.complete[copy.op]), subject=subject)
        for before, offset, content in copy.misnumbered:
            place = f"behind offset {before}" if before >= copy.begin else f"though it begins at offset {copy.begin}"
            yield who.example(
                f"after the drain {who.subject} gave {_said(content)} as offset {offset} of queue {shard.key}, {place}",
                key=shard.key,
                offset=offset,
                value=_said(content) if content >= 0 else None,
                ops=(
                    describe_operation(shard, context, copy.op, around=offset)
                    | {
                        "count": len(copy.offsets) + len(copy.misnumbered),
                        "records": [f"{offset}={_said(content) if content >= 0 else '?'}"],
                    },
                ),
            )


def _short(copies: Copies, context: Context) -> dict[str, int]:
    """The records that each copy ends before."""
    out = {}
    for copy in (one for one in copies.copies if one.whole):
        missing = len(copies.offsets) - int(np.searchsorted(copies.offsets, copy.end))
        if missing:
            out[node_name(context, copy.node)] = missing
    return out


class ReplicasKernel(OfEachKey):
    """Every replica's own copy against every other's."""

    name = "replicas"
    help = "after the drain all replicas hold the same at every offset that they have"
    anomalies = kinds_named("replica-fork")

    def applies(self, context: Context) -> str | None:
        """Where a queue has more than one replica."""
        most = max((len(context.run.replicas_of(key)) for key in range(context.run.keys)), default=0)
        return None if most >= _TWO else "there is one replica"

    def examine(self, shard: QueueShard, context: Context) -> ReplicaSummary:
        """Look at one queue."""
        log, own = shard.log, shard.operations
        asked = np.flatnonzero(log.f == F.REPLICA)
        if not len(asked):
            return ReplicaSummary()
        copies, unread = [], dict[tuple[str, str], tuple[int, ...]]()
        for node in _replicas(context, shard.key):
            ops = asked[own["argument"][asked] == node]
            read = ops[log.type[ops] == Type.OK]
            begun = ops[own["count"][ops] > 0]
            if len(read) or len(begun):
                copies.append(_copy(shard, int(read[-1] if len(read) else begun[-1])))
            if not len(read):
                why = str(own["error"][ops[-1]] or "no answer") if len(ops) else "it was not asked"
                unread[node_name(context, node), why] = (shard.key,)
        summary = ReplicaSummary(asked=len(asked), unread=unread)
        drained = drain_of(shard, context)
        too_early = any(int(log.invoke[copy.op]) < int(log.complete[drained.last]) for copy in copies)
        if not drained.complete or too_early:
            return msgspec.structs.replace(summary, uncompared=(shard.key,))
        odd = [offset for copy in copies for _, offset, _ in copy.misnumbered]
        if len(copies) < _TWO and not odd:
            return summary
        laid = side_by_side(copies)
        forked = np.flatnonzero(laid.forked)
        places = np.union1d(laid.offsets[forked], np.array(odd, dtype=np.int64))
        teller = _Teller(shard, context, laid)
        apart = (teller.example(int(at)) for at in forked[:EXAMPLES])
        found = findings(
            sum(copy.whole for copy in copies),
            replica_fork=Finding(
                count=len(places),
                ranges=ranges_of(shard.key, places),
                examples=examples(itertools.chain(apart, _misnumbered(shard, context, copies))),
            ),
        )
        return msgspec.structs.replace(summary, examined=found.examined, found=found.found, short=_short(laid, context))

    def merge(self, left: ReplicaSummary, right: ReplicaSummary) -> ReplicaSummary:
        """Add two queues."""
        return ReplicaSummary(
            examined=left.examined + right.examined,
            found=add_findings(left.found, right.found),
            asked=left.asked + right.asked,
            short={
                node: left.short.get(node, 0) + right.short.get(node, 0) for node in sorted({*left.short, *right.short})
            },
            unread={
                one: tuple(sorted((*left.unread.get(one, ()), *right.unread.get(one, ()))))
                for one in sorted({*left.unread, *right.unread})
            },
            uncompared=tuple(sorted((*left.uncompared, *right.uncompared))),
        )

    def held(
        self,
        summary: ReplicaSummary | None,
        anomalies: dict[str, Anomaly],  # noqa: ARG002 - they are told beside
        context: Context,  # noqa: ARG002
    ) -> Held:
        """Whether copies that were asked for could be compared."""
        asked = isinstance(summary, ReplicaSummary) and summary.asked and not summary.examined
        return Held(beside="replicas were not compared" if asked else "")

    def conclude(self, summary: ReplicaSummary | None, context: Context) -> CheckResult | None:
        """The row of the verdict table; none where no copy was asked for nor promised."""
        promised = context.run.promises.replicas_read
        if summary is None or not summary.asked:
            why = "no replica's own copy was read after the drain"
            return CheckResult(name=self.name, valid=UNKNOWN, found=why, reason=why) if promised else None
        row = conclude_findings(
            self.name, summary, context, noun="copy", clean="all alike" if summary.examined else "nothing compared"
        )
        lag = [f"{node} ends {count_of(number, 'record')} earlier" for node, number in summary.short.items()]
        missing = not_looked_at(summary)
        row = msgspec.structs.replace(row, found="; ".join((row.found, *lag, *missing, *left_out(context))))
        if promised and missing and row.valid is True:
            return msgspec.structs.replace(row, valid=UNKNOWN, reason="; ".join(missing))
        return row


def not_looked_at(summary: ReplicaSummary) -> list[str]:
    """The copies that take no part in the comparison, and why, a line for each reason."""
    out = []
    by_reason: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (node, why), queues in summary.unread.items():
        by_reason.setdefault((why, queues), []).append(node)
    for (why, queues), nodes in sorted(by_reason.items()):
        which = numbers("queue", queues)
        out.append(f"not looked at: {which} of {join_names(nodes)}, {why}")
    if summary.uncompared:
        which = numbers("queue", summary.uncompared)
        out.append(f"not compared: {which}, the final reads are not complete")
    return out
