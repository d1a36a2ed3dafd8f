"""Linearizable offsets: offset order extends real-time order, reads included (SEMANTICS 7).

Every operation has a place in offset order: an append at offset o the rank 2o; a read whose last
record is at l comes after rank 2l+1; a strong read that reached the end E comes before rank 2E-1 at
the latest. The log is linearizable iff no operation was invoked after one of higher rank completed:
a suffix minimum of completions over the places decides it exactly.

Does not bound weak reads from above and empty reads from below: legal histories would be refused.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import Example
from chaos.storage.history import NEVER_NS
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    describe_operation,
    examples,
    findings,
    node_name,
    ranges_of,
    seconds_text,
    spread_of,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask, distinct, suffix_minimum
from checkers.history.log import Log

_SPARE: Final = 4096


class Scan(NamedTuple):
    """Operations invoked after one of higher rank had completed, each with the earliest such as its witness.

    ``shown``: whether one of those of higher rank was a read.
    """

    ops: Ints
    places: Ints
    witnesses: Ints
    shown: Mask


def _appends(log: Log) -> tuple[Ints, Ints, Mask]:
    """Sends that are in the log, where, and whether they were there when they were acknowledged."""
    there = np.flatnonzero(log.place >= 0)
    return log.sends[there], log.place[there], log.acked_at_offset[there]


class _Grid:
    """Places as small numbers, ascending as they do: counted from the lowest where they are dense, else ranked.

    Args:
        places: those there are.
    """

    def __init__(self, places: Ints) -> None:
        self._lowest = int(places.min(initial=0))
        span = int(places.max(initial=0)) - self._lowest + 1
        self._ranked = None if span < 4 * len(places) + _SPARE else distinct(places)
        self.size = span if self._ranked is None else len(self._ranked)

    def of(self, places: Ints) -> Ints:
        """Per place its number; of one that is none of them, that of the next higher, ``size`` if there is none."""
        if self._ranked is not None:
            return np.searchsorted(self._ranked, places)
        return np.clip(places - self._lowest, 0, self.size)


class _Completed(NamedTuple):
    """The operations whose completion shows how far the log was: settled appends and reads that returned records."""

    appends: Ints
    places: Ints
    reads: Ints
    last: Ints

    def by_rank(self) -> tuple[Ints, Ints]:
        """Ranks, ascending, and the operations."""
        rank = np.concatenate((2 * self.places, 2 * self.last + 1))
        order = np.argsort(rank, kind="stable")
        return rank[order], np.concatenate((self.appends, self.reads))[order]


def _late(log: Log, done: _Completed, appends: Ints, place: Ints, strong: Ints, tail: Ints) -> tuple[Mask, Mask]:
    """Which appends and strong reads were invoked after an operation of strictly higher rank had completed."""
    grid = _Grid(np.concatenate((place, done.last)))
    by_read = np.full(grid.size, NEVER_NS, dtype=np.int64)
    np.minimum.at(by_read, grid.of(done.last), log.complete[done.reads])
    earliest = by_read.copy()
    np.minimum.at(earliest, grid.of(done.places), log.complete[done.appends])
    from_here = suffix_minimum(earliest, none=NEVER_NS)
    at = grid.of(place)
    # Above an append come the reads that returned it, above both whatever is further on.
    above = np.minimum(by_read[at], from_here[at + 1])
    return above < log.invoke[appends], from_here[grid.of(tail)] < log.invoke[strong]


def _shown_late(log: Log, ops: Ints, rank: Ints, done_rank: Ints, done_ops: Ints) -> Mask:
    """Which of ``ops`` were invoked after one of these operations, of strictly higher rank, had completed."""
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
    appends, place, settled = _appends(log)
    reads = log.ok_reads[log.row_count[log.ok_reads] > 0]
    done = _Completed(appends[settled], place[settled], reads, log.last_record[reads])
    strong = log.strong_reads
    tail = log.tails(strong)
    out = []
    for bad, ops, places, rank in zip(
        _late(log, done, appends, place, strong, tail),
        (appends, strong),
        (place, tail),
        (2 * place, 2 * tail - 1),
        strict=True,
    ):
        witnesses, shown = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
        if bad.any():
            done_rank, done_ops = done.by_rank()
            witnesses = _witnesses(log, rank[bad], done_rank, done_ops)
            by_read = log.row_count[done_ops] > 0
            shown = _shown_late(log, ops[bad], rank[bad], done_rank[by_read], done_ops[by_read])
        out.append(Scan(ops[bad], places[bad], witnesses, shown))
    return out[0], out[1]


def just_acknowledged(log: Log, context: Context, read: int, witness: int) -> bool:
    """Whether the oldest of what a stale read misses may not be readable yet (``readable_after_s``, SEMANTICS 13)."""
    age_ns = int(log.invoke[read]) - int(log.complete[witness])
    of_its_own_master = log.node[read] == log.node[witness]
    return bool(of_its_own_master and age_ns <= context.run.promises.readable_after_s * NS_PER_S)


def at_old_master(log: Log, context: Context, key: int, read: int, witness: int) -> bool:
    """Whether a stale read was served by a node of a lower epoch than what it missed (SEMANTICS 13)."""
    reader, giver = (node_name(context, int(log.node[op])) for op in (read, witness))
    subject = context.subject_of(key)
    acts = ((reader, read), (giver, witness))
    epochs = [context.timeline.epoch_of(node, int(log.complete[op]), subject) for node, op in acts]
    if epochs[0] is None or epochs[1] is None:
        return reader != giver
    return epochs[0] < epochs[1]


class Shown(NamedTuple):
    """What a witness shows to be in the log: ``what`` and by whom ("acknowledged by b3"), in words."""

    offset: int
    value: str | None
    what: str
    by: str


def _shown(log: Log, context: Context, op: int) -> Shown:
    """The message that a witness appended, or the last that it read."""
    node = node_name(context, int(log.node[op]))
    if not log.row_count[op]:
        value, offset = log.sent(op), int(log.offset[op])
        return Shown(offset, value, f"{value} at offset {offset}", f"acknowledged by {node}")
    rows, offset = log.rows_of(op), int(log.last_record[op])
    vid = int(log.row_vid[rows][np.argmax(log.row_offset[rows])])
    value_read = log.value(vid) if vid >= 0 else None
    return Shown(offset, value_read, f"{value_read or 'the record'} at offset {offset}", f"read from {node}")


def _reordered_example(shard: QueueShard, context: Context, send: int, place: int, witness: int) -> Example:
    """A send whose offset is below one that was there before."""
    log = shard.log
    value, shown = log.sent(send), _shown(log, context, witness)
    acked = bool(log.acked_at_offset[log.vid_of(send)])
    who = actor_of(shard, context, send if acked else log.first_read(log.vid_of(send)), leads=acked)
    before_s = (int(log.invoke[send]) - int(log.complete[witness])) / NS_PER_S
    sent = seconds_text(context, int(log.invoke[send]))
    did = f"gave {value}, sent at {sent}," if acked else f"showed {value}, sent at {sent}, at"
    return who.example(
        f"{who.subject} {did} offset {place} of queue {shard.key}, though {shown.what} "
        f"had been {shown.by} {before_s:.1f} s before",
        key=shard.key,
        offset=place,
        value=value,
        ops=(describe_operation(shard, context, send), describe_operation(shard, context, witness, around=place)),
    )


def _stale_example(shard: QueueShard, context: Context, read: int, end: int, witness: int, *, excused: bool) -> Example:
    """A strong read that ended below what was there before it began."""
    log = shard.log
    who, shown = actor_of(shard, context, read, leads=True), _shown(log, context, witness)
    before_s = (int(log.invoke[read]) - int(log.complete[witness])) / NS_PER_S
    given = f"with offsets up to {end - 1}" if end else "with nothing"
    return who.example(
        f"at {time_of(shard, context, read)} {who.subject} answered a strong read of queue {shard.key} {given} and "
        f"missed {shown.what}, {shown.by} {before_s:.1f} s before it began",
        key=shard.key,
        offset=shown.offset,
        value=shown.value,
        excused=excused,
        ops=(describe_operation(shard, context, read, around=end), describe_operation(shard, context, witness)),
    )


class LinearizableKernel(FindingsCheck):
    """Appends against real time, and strong reads that miss what came before them."""

    name = "linearizable-offsets"
    help = "offset order extends real-time order, strong reads miss nothing"
    anomalies = kinds_named("nonlinearizable-offset", "stale-tail")
    noun = "operation"
    counted = "sends and ok reads"
    clean = "offset order extends real-time order"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        appends, stale = rank_scan(log)
        excused = []
        for read, witness, shown in zip(stale.ops.tolist(), stale.witnesses.tolist(), stale.shown, strict=True):
            young = not shown and just_acknowledged(log, context, read, witness)
            excused.append(young or at_old_master(log, context, shard.key, read, witness))

        def reordered() -> Iterator[Example]:
            for op, place, witness, _ in zip(*(column.tolist() for column in appends), strict=True):
                yield _reordered_example(shard, context, op, place, witness)

        def missed() -> Iterator[Example]:
            for i in np.argsort(np.asarray(excused), kind="stable").tolist():
                read, end, witness = (int(column[i]) for column in stale[:3])
                yield _stale_example(shard, context, read, end, witness, excused=excused[i])

        missing_at = np.where(
            log.row_count[stale.witnesses] > 0, log.last_record[stale.witnesses], log.offset[stale.witnesses]
        )
        return findings(
            len(log.sends) + len(log.ok_reads),
            nonlinearizable_offset=Finding(
                count=len(appends.ops),
                examples=examples(reordered()),
                ranges=ranges_of(shard.key, appends.places),
                spread=spread_of(shard, context, appends.ops),
            ),
            stale_tail=Finding(
                count=len(stale.ops),
                examples=examples(missed()),
                ranges=ranges_of(shard.key, missing_at),
                excused=sum(excused),
                spread=spread_of(shard, context, stale.ops),
            ),
        )
