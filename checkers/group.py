"""The consumer group: its offsets are a register per queue, and what lies below them was delivered (SEMANTICS 20).

``lost-commit``: an answer to where the group goes on that no commit can have left there, because an
acknowledged commit had overwritten all that did. ``undelivered``: an acknowledged message below the
offset at which the group goes on at the end, which no poll returned. The module refuses to judge what
lies above that offset: nobody claimed to have processed it.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np

from chaos.core.history import NEVER_NS
from chaos.core.op import F, Type
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from checkers.blame import actor_of, when
from checkers.columns import Ints, Mask
from checkers.drain import drain_of
from checkers.failover import failed_over
from checkers.findings import (
    Finding,
    Findings,
    added,
    concluded,
    examples,
    findings,
    node_name,
    numbers,
    ranges_of,
    seconds_text,
    told,
)
from checkers.kernel import Context, QueueShard
from checkers.log import Log

NOBODY: Final = -1
TRIED: Final = (int(Type.OK), int(Type.INFO))
"""Outcomes of a commit that took effect or may have."""


class GroupSummary(Findings, frozen=True, kw_only=True):
    """Findings, how many operations of a group there were, and the queues whose last offset is not known."""

    asked: int = 0
    unread: tuple[int, ...] = ()


class Stale(NamedTuple):
    """Committed-reads that cannot be, each with the commit that hides what it answered and who wrote that last."""

    reads: Ints
    hiding: Ints
    writers: Ints


def _latest(order: Ints, weight: Ints) -> tuple[Ints, Ints]:
    """Of rows taken in an order: the largest weight so far, and the row that had it first."""
    so_far = np.maximum.accumulate(weight[order])
    first = np.r_[True, so_far[1:] > so_far[:-1]]
    return so_far, order[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]


def _last_of_value(value: Ints, invoke: Ints, end: Ints, asked: Ints, until: Ints) -> Ints:
    """For each pair of ``asked`` and ``until``: the row of that value, invoked by then, that ended last, else -1."""
    if not len(value) or not len(asked):
        return np.full(len(asked), NOBODY, dtype=np.int64)
    rows = np.lexsort((invoke, value))
    # Values take turns in this order; with the turn in front, the largest end so far is that of one value.
    _, turn = np.unique(value[rows], return_inverse=True)
    _, rank = np.unique(end[rows], return_inverse=True)
    _, best = _latest(np.arange(len(rows)), turn.astype(np.int64) * (len(rows) + 1) + rank)
    moments = np.unique(np.concatenate((invoke, until)))
    scale = len(moments) + 1
    kinds = np.unique(np.concatenate((value, asked)))

    def place(what: Ints, when: Ints) -> Ints:
        return np.searchsorted(kinds, what) * scale + np.searchsorted(moments, when)

    at = np.searchsorted(place(value[rows], invoke[rows]), place(asked, until), side="right") - 1
    same = (at >= 0) & (value[rows][np.maximum(at, 0)] == asked)
    return np.where(same, rows[best[np.maximum(at, 0)]], NOBODY)


def stale_reads(log: Log, *, whole: bool) -> Stale:
    """The ok committed-reads whose answer was overwritten before they began, or that nobody committed.

    Args:
        log: one queue.
        whole: every stream ended properly; else a commit that left no record may explain an answer.
    """
    commits = np.flatnonzero((log.f == F.COMMIT) & np.isin(log.type, TRIED))
    reads = np.flatnonzero((log.f == F.COMMITTED_READ) & (log.type == Type.OK))
    settled = log.type[commits] == Type.OK
    acked = commits[settled]
    by_end = acked[np.argsort(log.complete[acked], kind="stable")]
    hiding = np.full(len(reads), NOBODY, dtype=np.int64)
    if len(by_end):
        _, newest = _latest(np.arange(len(by_end)), log.invoke[by_end])
        before = np.searchsorted(log.complete[by_end], log.invoke[reads], side="left") - 1
        hiding = np.where(before >= 0, by_end[newest[np.maximum(before, 0)]], NOBODY)
    end = np.where(settled, log.complete[commits], NEVER_NS)
    answer = log.next[reads]
    writer = _last_of_value(log.offset[commits], log.invoke[commits], end, answer, log.complete[reads])
    written = writer >= 0
    ended = end[np.maximum(writer, 0)] if len(end) else np.zeros(len(reads), dtype=np.int64)
    hidden = (hiding >= 0) & written & (ended < log.invoke[np.maximum(hiding, 0)])
    hidden |= (hiding >= 0) & (answer < 0)
    out_of_nothing = ~written & (answer >= 0) & whole
    bad = hidden | out_of_nothing
    return Stale(reads[bad], hiding[bad], np.where(written, commits[writer] if len(commits) else NOBODY, NOBODY)[bad])


def _stepped_back(log: Log, stale: Stale, context: Context) -> Mask:
    """Whether another master may have taken over between the commit that is missing and the answer without it."""
    hiding = np.maximum(stale.hiding, 0)
    other = log.node[stale.reads] != log.node[hiding] if len(stale.reads) else np.zeros(0, dtype=np.bool_)
    between = failed_over(context, log.invoke[hiding], log.complete[stale.reads])
    return (stale.hiding >= 0) & (other | between)


def last_committed(log: Log, last_pass: int) -> int:
    """The op of the last ok committed-read that began after the last final read, -1 without one."""
    if last_pass < 0:
        return NOBODY
    reads = np.flatnonzero((log.f == F.COMMITTED_READ) & (log.type == Type.OK))
    reads = reads[log.invoke[reads] >= log.complete[last_pass]]
    return int(reads[-1]) if len(reads) else NOBODY


def _undelivered(log: Log, goes_on: int, minimum: int) -> tuple[Ints, Ints]:
    """Vids of the acknowledged messages below the group's offset, and of those of them that no poll returned."""
    offset = log.offset[log.sends[log.acked]]
    below = log.acked[(offset >= minimum) & (offset < goes_on)]
    polled: Mask = np.equal(log.f[log.row_op], F.POLL)
    # A damaged body at its place was delivered; that it is damaged is another anomaly.
    damaged = np.unique(log.row_offset[polled & (log.row_vid < 0)])
    missing = ~log.seen(polled)[below] & ~np.isin(log.offset[log.sends[below]], damaged)
    gone = below[missing]
    return below, gone[np.argsort(log.offset[log.sends[gone]], kind="stable")]


def _stale_example(shard: QueueShard, context: Context, read: int, hiding: int, writer: int, passed_by: int) -> Example:
    """A wrong answer; ``passed_by``: the offset that it passes by."""
    log = shard.log
    answer = int(log.next[read])
    said = f"goes on at offset {answer} of" if answer >= 0 else "never committed in"
    why = "which nobody had committed"
    if hiding >= 0 and (writer >= 0 or answer < 0):
        why = (
            f"but offset {log.offset[hiding]} had been committed at {node_name(context, int(log.node[hiding]))} "
            f"at {when(shard, context, hiding)}"
            f"{f', and {answer} not since' if answer >= 0 else ''}"
        )
    shown = [op for op in (read, hiding, writer) if op >= 0]
    who = actor_of(shard, context, read, leads=True)
    return who.example(
        f"at {when(shard, context, read)} {who.subject} answered that the group {said} queue {shard.key}, {why}",
        key=shard.key, offset=passed_by, ops=tuple(told(shard, context, op) for op in shown),
    )  # fmt: skip


def _undelivered_example(shard: QueueShard, context: Context, vid: int, final: int) -> Example:
    log = shard.log
    send = int(log.sends[vid])
    offset = int(log.offset[send])
    polls = log.ok_reads[log.f[log.ok_reads] == F.POLL]
    passing = polls[(log.begin[polls] <= offset) & (log.end[polls] > offset)]
    commits = np.flatnonzero((log.f == F.COMMIT) & (log.offset > offset) & (log.type == Type.OK))
    # Whoever passed it is behind it; without such a poll, where the group's offset was moved past it.
    did, guilty = "answered that the group goes on behind it", final
    if len(passing):
        did, guilty = "answered a poll that passed it", int(passing[0])
    elif len(commits):
        did, guilty = "was given a commit behind it", int(commits[0])
    who = actor_of(shard, context, guilty, leads=not len(passing))
    shown = [send, *(int(ops[0]) for ops in (passing, commits) if len(ops)), final]
    at = seconds_text(context, who.at_ns)
    return who.example(
        f"{log.value(vid)}, acknowledged by {node_name(context, int(log.node[send]))} at "
        f"{when(shard, context, send)} at offset {offset} of queue {shard.key}, was given to no member of the group, "
        f"which goes on at offset {log.next[final]}; at {at} {who.subject} {did}",
        key=shard.key, offset=offset, value=log.value(vid),
        ops=tuple(told(shard, context, op, around=offset) for op in shown),
    )  # fmt: skip


class GroupKernel:
    """Commits that are gone, and messages that the group passed over."""

    name = "group"
    help = (
        "no acknowledged commit of the group is lost, and every acknowledged message below its offset was "
        "delivered (lost-commit, undelivered)"
    )

    def examine(self, shard: QueueShard, context: Context) -> GroupSummary:
        """Look at one queue."""
        log = shard.log
        asked = int(np.isin(log.f, [int(F.COMMIT), int(F.COMMITTED_READ)]).sum())
        if not asked:
            return GroupSummary(unread=(shard.key,))
        stale = stale_reads(log, whole=all(stream.ended for stream in context.streams))
        drained = drain_of(shard, context)
        final = last_committed(log, drained.last)
        goes_on = int(log.next[final]) if final >= 0 else 0
        below, gone = _undelivered(log, goes_on, drained.minimum)

        excused = _stepped_back(log, stale, context)

        def told_of() -> Iterator[Example]:
            order = np.argsort(excused, kind="stable")
            columns = (column[order].tolist() for column in (*stale, passed_by, excused))
            for one, covered in ((row[:-1], row[-1]) for row in zip(*columns, strict=True)):
                yield msgspec.structs.replace(_stale_example(shard, context, *one), excused=covered)

        # A wrong answer passes by the offset committed last; where there is none, it is wrong itself.
        passed_by = np.where(stale.hiding >= 0, log.offset[np.maximum(stale.hiding, 0)], log.next[stale.reads])
        found = findings(
            len(below),
            lost_commit=Finding(
                count=len(stale.reads), examples=examples(told_of()), ranges=ranges_of(shard.key, passed_by),
                excused=int(excused.sum()),
            ),
            undelivered=Finding(
                count=len(gone), ranges=ranges_of(shard.key, log.offset[log.sends[gone]]),
                examples=examples(_undelivered_example(shard, context, int(vid), final) for vid in gone),
            ),
        )  # fmt: skip
        return GroupSummary(
            examined=found.examined, found=found.found, asked=asked, unread=() if final >= 0 else (shard.key,)
        )

    def merge(self, left: GroupSummary, right: GroupSummary) -> GroupSummary:
        """Add two queues."""
        return GroupSummary(
            examined=left.examined + right.examined, found=added(left.found, right.found),
            asked=left.asked + right.asked, unread=(*left.unread, *right.unread),
        )  # fmt: skip

    def conclude(self, summary: GroupSummary | None, context: Context) -> CheckResult | None:
        """The row of the verdict table; none where there was no group."""
        if context.run.mix.get(F.COMMIT.word, 0) <= 0 and (summary is None or not summary.asked):
            return None
        summary = summary if summary is not None else GroupSummary()
        row = concluded(
            self.name, summary, context, noun="acknowledged message",
            clean="each was delivered, and every commit that was acknowledged was kept",
        )  # fmt: skip
        if row.valid is not True or not summary.unread:
            return row
        reason = f"where the group goes on in {numbers('queue', summary.unread)} was not read after the final read"
        return msgspec.structs.replace(row, valid=UNKNOWN, found="where the group goes on is not known", reason=reason)
