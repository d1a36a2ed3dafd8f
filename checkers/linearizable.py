"""Linearizable offsets: offset order extends real-time order, reads included (SEMANTICS 7).

Every operation has a place in offset order: an append at offset o the rank 2o; a read whose last
record is at l comes after rank 2l+1; a strong read that reached the end E comes before rank 2E-1 at
the latest. The log is linearizable iff no operation was invoked after one of higher rank completed:
a sort and a suffix minimum of completions decide it exactly.

The module refuses to bound weak reads from above and empty reads from below: legal histories would
be refused.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.history import NEVER_NS
from chaos.core.op import Type
from chaos.core.verdict import CheckResult, Example
from checkers.columns import Ints, Mask, suffix_minimum
from checkers.findings import (
    Finding,
    Findings,
    concluded,
    examples,
    findings,
    merged,
    node_name,
    ranges_of,
    seconds_text,
    told,
)
from checkers.kernel import Context, QueueShard
from checkers.log import Log


class Scan(NamedTuple):
    """Operations invoked after one of higher rank had completed, each with the earliest such as its witness.

    ``shown``: whether one of those of higher rank was a read.
    """

    ops: Ints
    places: Ints
    witnesses: Ints
    shown: Mask


def _appends(log: Log) -> tuple[Ints, Ints]:
    """Sends that are in the log, and where: acknowledged offsets, else the highest that a read showed."""
    shown = np.full(log.values, -1, dtype=np.int64)
    known = log.row_vid >= 0
    np.maximum.at(shown, log.row_vid[known], log.row_offset[known])
    place = shown[: len(log.sends)].copy()
    acked = log.acked[log.offset[log.sends[log.acked]] >= 0]
    place[acked] = log.offset[log.sends[acked]]
    there = np.flatnonzero(place >= 0)
    return log.sends[there], place[there]


def _scan(log: Log, ops: Ints, rank: Ints, done_rank: Ints, done_ops: Ints) -> Mask:
    """Which of ``ops`` were invoked after a completed operation of strictly higher rank."""
    least = suffix_minimum(log.complete[done_ops], none=NEVER_NS)
    return np.asarray(least[np.searchsorted(done_rank, rank, side="right")] < log.invoke[ops])


def _witnesses(log: Log, rank: Ints, done_rank: Ints, done_ops: Ints) -> Ints:
    """The earliest completed operation of strictly higher rank, for ranks that have one."""
    complete = log.complete[done_ops]
    least = suffix_minimum(complete, none=NEVER_NS)
    place = np.where(complete == least[:-1], np.arange(len(complete)), len(complete))
    nearest = np.minimum.accumulate(place[::-1])[::-1]
    return done_ops[nearest[np.searchsorted(done_rank, rank, side="right")]]


def rank_scan(log: Log) -> tuple[Scan, Scan]:
    """The appends out of order, and the stale strong reads."""
    appends, place = _appends(log)
    settled = log.type[appends] == Type.OK
    reads = log.ok_reads[log.row_count[log.ok_reads] > 0]
    done_ops = np.concatenate((appends[settled], reads))
    done_rank = np.concatenate((2 * place[settled], 2 * log.last_record[reads] + 1))
    order = np.argsort(done_rank, kind="stable")
    done_ops, done_rank = done_ops[order], done_rank[order]
    by_read = log.row_count[done_ops] > 0
    strong = log.strong_reads
    out = []
    for ops, places, rank in ((appends, place, 2 * place), (strong, log.tail[strong], 2 * log.tail[strong] - 1)):
        bad = _scan(log, ops, rank, done_rank, done_ops)
        witnesses = _witnesses(log, rank[bad], done_rank, done_ops) if bad.any() else np.zeros(0, dtype=np.int64)
        shown = _scan(log, ops[bad], rank[bad], done_rank[by_read], done_ops[by_read])
        out.append(Scan(ops[bad], places[bad], witnesses, shown))
    return out[0], out[1]


def just_acknowledged(log: Log, context: Context, read: int, witness: int) -> bool:
    """Whether the oldest of what a stale read misses may not be readable yet (``readable_after_s``, SEMANTICS 13)."""
    age_ns = int(log.invoke[read]) - int(log.complete[witness])
    of_its_own_master = log.node[read] == log.node[witness]
    return bool(of_its_own_master and age_ns <= context.run.promises.readable_after_s * NS_PER_S)


def at_old_master(log: Log, context: Context, read: int, witness: int) -> bool:
    """Whether a stale read was served by a node of a lower epoch than what it missed (SEMANTICS 13)."""
    reader, giver = (node_name(context, int(log.node[op])) for op in (read, witness))
    epochs = [
        context.timeline.epoch_of(node, int(log.complete[op])) for node, op in ((reader, read), (giver, witness))
    ]
    if epochs[0] is None or epochs[1] is None:
        return reader != giver
    return epochs[0] < epochs[1]


def _what(log: Log, context: Context, op: int) -> str:
    """A witness in words."""
    node, when = node_name(context, int(log.node[op])), seconds_text(context, int(log.complete[op]))
    if log.row_count[op]:
        return f"offset {log.last_record[op]} had been read from {node} at {when}"
    vid = int(np.searchsorted(log.sends, op))
    return f"{log.value(vid)} had been acknowledged by {node} at offset {log.offset[op]} at {when}"


class LinearizableKernel:
    """Appends against real time, and strong reads that miss what came before them."""

    name = "linearizable-offsets"
    help = "offset order extends real-time order, strong reads miss nothing (nonlinearizable-offset, stale-tail)"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        appends, stale = rank_scan(log)
        excused = []
        for read, witness, shown in zip(stale.ops.tolist(), stale.witnesses.tolist(), stale.shown, strict=True):
            young = not shown and just_acknowledged(log, context, read, witness)
            excused.append(young or at_old_master(log, context, read, witness))

        def reordered() -> Iterator[Example]:
            for op, place, witness, _ in zip(*appends, strict=True):
                value = log.value(int(np.searchsorted(log.sends, op)))
                yield Example(
                    sentence=f"{value} was sent at {seconds_text(context, int(log.invoke[op]))} and has offset {place} "
                    f"of queue {shard.key}, but {_what(log, context, int(witness))}, before that",
                    key=shard.key, offset=int(place), value=value,
                    ops=(told(shard, context, int(op)), told(shard, context, int(witness), around=int(place))),
                )  # fmt: skip

        def missed() -> Iterator[Example]:
            order = np.argsort(np.asarray(excused), kind="stable")
            for op, place, witness, _ in zip(*(column[order] for column in stale), strict=True):
                yield Example(
                    sentence=f"a strong read of queue {shard.key} at {node_name(context, int(log.node[op]))} at "
                    f"{seconds_text(context, int(log.invoke[op]))} found the end at offset {place}, but "
                    f"{_what(log, context, int(witness))}, before it began",
                    key=shard.key, offset=int(place),
                    ops=(told(shard, context, int(op), around=int(place)), told(shard, context, int(witness))),
                )  # fmt: skip

        missing_at = np.where(
            log.row_count[stale.witnesses] > 0, log.last_record[stale.witnesses], log.offset[stale.witnesses]
        )
        return findings(
            len(log.sends) + len(log.ok_reads),
            nonlinearizable_offset=Finding(
                count=len(appends.ops), examples=examples(reordered()), ranges=ranges_of(shard.key, appends.places)
            ),
            stale_tail=Finding(
                count=len(stale.ops), examples=examples(missed()), ranges=ranges_of(shard.key, missing_at),
                excused=sum(excused),
            ),
        )  # fmt: skip

    def merge(self, left: Findings, right: Findings) -> Findings:
        """Add two queues."""
        return merged(left, right)

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        return concluded(self.name, summary, context, noun="operation", clean="offset order extends real-time order")
