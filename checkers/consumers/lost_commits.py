"""Answers to where a group goes on that no order of its commits and answers explains (SEMANTICS 20): ``lost-commit``.

``commit_register`` says which; here they are told: what had shown another offset before, and whether a promise about
failovers covers it.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import Example
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS, StreamFacts
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.failover import failed_over
from checkers.anomalies.findings import Finding, describe_operation, examples, node_name, ranges_of
from checkers.consumers.commit_register import Reads, Writes, impossible_reads
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask
from checkers.history.log import Log

NOBODY: Final = -1
TRIED: Final = (int(Type.OK), int(Type.INFO))
"""Outcomes of a commit that took effect or may have."""


class Lost(NamedTuple):
    """Committed-reads that cannot be.

    ``shown``: what had shown another offset before each, an acknowledged commit or an answer; -1 for an answer that
    nobody tried to commit. ``writers``: the last commit of what was answered, -1 if there is none. ``given_up``: there
    may be more.
    """

    reads: Ints
    shown: Ints
    writers: Ints
    given_up: bool


def _value(log: Log, ops: Ints) -> Ints:
    """What is committed, or answered."""
    return np.where(log.f[ops] == F.COMMIT, log.offset[ops], log.next[ops])


def _recorded_until(log: Log, streams: tuple[StreamFacts, ...]) -> int:
    """Until when no record of a commit to this queue can be missing: a stream that was cut off may lack its end."""
    worker = log.operations["worker"]
    last = np.where(log.complete == NEVER_NS, log.invoke, log.complete)
    cut = [stream.worker for stream in streams if not stream.ended]
    return min((int(last[worker == one].max(initial=0)) for one in cut), default=NEVER_NS)


def lost_commits(log: Log, streams: tuple[StreamFacts, ...]) -> Lost:
    """The ok committed-reads of one queue that its commits do not explain.

    An answer from a time of which the record of a commit may be lost is judged only if it is that nobody committed.
    """
    commits = np.flatnonzero((log.f == F.COMMIT) & np.isin(log.type, TRIED))
    reads = np.flatnonzero((log.f == F.COMMITTED_READ) & (log.type == Type.OK))
    if len(reads):
        reads = reads[(log.next[reads] < 0) | (log.complete[reads] < _recorded_until(log, streams))]
    settled = log.type[commits] == Type.OK
    found = impossible_reads(
        Writes(log.offset[commits], log.invoke[commits], np.where(settled, log.complete[commits], NEVER_NS)),
        Reads(np.maximum(log.next[reads], NOBODY), log.invoke[reads], log.complete[reads]),
    )
    bad = np.zeros(len(reads), dtype=np.bool_)
    bad[found.reads] = True
    wrong, writers = reads[bad], _writers(log, reads[bad], commits)
    shown = _shown(log, wrong, np.concatenate((commits[settled], reads[~bad])))
    out_of_nothing = (writers < 0) & (log.next[wrong] >= 0)
    return Lost(wrong, np.where(out_of_nothing, NOBODY, shown), writers, found.given_up)


class _Seen(NamedTuple):
    """Something that showed a value."""

    invoke: int
    value: int
    op: int


def _shown(log: Log, reads: Ints, ops: Ints) -> Ints:
    """Per read the operation, completed before it was invoked, that was invoked last of those with another value.

    There is one for every read that cannot be and whose value somebody tried to commit: if all that had completed had
    the value that was answered, the read could follow the last of them; if nothing had, it could follow that commit.
    """
    out = np.full(len(reads), NOBODY, dtype=np.int64)
    order = ops[np.lexsort((ops, log.complete[ops]))]
    rows = zip(
        log.complete[order].tolist(),
        log.invoke[order].tolist(),
        _value(log, order).tolist(),
        order.tolist(),
        strict=True,
    )
    row = next(rows, None)
    last = other = None  # the last one, and the last with another value than its
    answer = log.next[reads].tolist()
    for i in np.argsort(log.invoke[reads], kind="stable").tolist():
        while row is not None and row[0] < log.invoke[reads[i]]:
            seen, row = _Seen(*row[1:]), next(rows, None)
            if last is None or seen.invoke > last.invoke:
                other = last if last is not None and last.value != seen.value else other
                last = seen
            elif seen.value != last.value and (other is None or seen.invoke > other.invoke):
                other = seen
        best = last if last is not None and last.value != answer[i] else other
        out[i] = best.op if best is not None else NOBODY
    return out


def _writers(log: Log, reads: Ints, commits: Ints) -> Ints:
    """Per read the last commit of what it answered that was invoked before it was over."""
    out = np.full(len(reads), NOBODY, dtype=np.int64)
    if len(reads) and len(commits):
        order = commits[np.lexsort((log.invoke[commits], log.offset[commits]))]
        value, invoke = log.offset[order], log.invoke[order]
        kinds = np.unique(value)
        moments = np.unique(np.concatenate((invoke, log.complete[reads])))
        place = np.searchsorted(kinds, value) * (len(moments) + 1) + np.searchsorted(moments, invoke)
        kind = np.minimum(np.searchsorted(kinds, log.next[reads]), len(kinds) - 1)
        asked = kind * (len(moments) + 1) + np.searchsorted(moments, log.complete[reads])
        at = np.searchsorted(place, asked, side="right") - 1
        same = (at >= 0) & (value[np.maximum(at, 0)] == log.next[reads])
        out[same] = order[at[same]]
    return out


def _stepped_back(log: Log, lost: Lost, context: Context, key: int) -> Mask:
    """Whether another leader may have taken over between what showed another offset and the answer."""
    shown = np.maximum(lost.shown, 0)
    if not len(shown):
        return np.zeros(0, dtype=np.bool_)
    other = log.node[lost.reads] != log.node[shown]
    between = failed_over(context, key, log.invoke[shown], log.complete[lost.reads])
    return np.asarray((lost.shown >= 0) & (other | between))


def _example(shard: QueueShard, context: Context, read: int, shown: int, writer: int, passed_by: int) -> Example:
    """A wrong answer; ``passed_by``: the offset that it passes by."""
    log = shard.log
    answer = int(log.next[read])
    said = f"goes on at offset {answer} of" if answer >= 0 else "never committed in"
    why = "which nobody had committed"
    if shown >= 0:
        verb = "committed" if log.f[shown] == F.COMMIT else "read as its commit"
        why = (
            f"but offset {passed_by} had been {verb} at {node_name(context, int(log.node[shown]))} "
            f"at {time_of(shard, context, shown)}"
            f"{f', and no commit can have brought {answer} back' if answer >= 0 else ''}"
        )
    ops = [op for op in (read, shown, writer) if op >= 0]
    who = actor_of(shard, context, read, leads=True)
    return who.example(
        f"at {time_of(shard, context, read)} {who.subject} answered that the group {said} queue {shard.key}, {why}",
        key=shard.key,
        offset=passed_by,
        ops=tuple(describe_operation(shard, context, op) for op in ops),
    )


def finding_of(shard: QueueShard, context: Context, lost: Lost) -> Finding:
    """The wrong answers of one queue, those first that no promise about failovers can cover."""
    log = shard.log
    excused = _stepped_back(log, lost, context, shard.key)
    # A wrong answer passes by the offset shown last; where there is none, it is wrong itself.
    passed_by = np.where(lost.shown >= 0, _value(log, np.maximum(lost.shown, 0)), log.next[lost.reads])

    def told_of() -> Iterator[Example]:
        for i in np.argsort(excused, kind="stable").tolist():
            one = (int(column[i]) for column in (lost.reads, lost.shown, lost.writers, passed_by))
            yield msgspec.structs.replace(_example(shard, context, *one), excused=bool(excused[i]))

    return Finding(
        count=len(lost.reads),
        examples=examples(told_of()),
        ranges=ranges_of(shard.key, passed_by),
        excused=int(excused.sum()),
    )
