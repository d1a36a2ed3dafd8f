"""Dependencies between records: who sent what who polled (wr), who sent before whom in a log (ww).

Source: jepsen.tests.kafka (``wr-graph``, ``ww-graph``). Real-time order needs no edges here: it follows from the table
of records. Does not look for cycles.
"""

from dataclasses import dataclass

import numpy as np

from chaos.core.op import Type
from checkers.history.columns import Ints
from checkers.kafka.log import Log
from checkers.kafka.realtime import Seen
from checkers.kafka.rows import NEVER, Records


@dataclass(frozen=True, slots=True)
class Edges:
    """Dependencies of one kind between different records; an edge may come twice. ``key``: the log of each."""

    source: Ints
    target: Ints
    key: Ints

    def __len__(self) -> int:
        return len(self.source)


def no_edges() -> Edges:
    """No edges."""
    empty = np.empty(0, dtype=np.int64)
    return Edges(empty, empty, empty)


def merge_edges(parts: list[Edges]) -> Edges:
    """The edges of several logs."""
    if not parts:
        return no_edges()
    return Edges(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "target", "key")))


def _edges(source: Ints, target: Ints, key: int) -> Edges:
    real = (source >= 0) & (target >= 0) & (source != target)
    source, target = source[real], target[real]
    return Edges(source, target, np.full(len(source), key, dtype=np.int64))


def polled_after_sent(log: Log) -> Edges:
    """wr: the record that sent a value, and each record of any outcome that polled it."""
    return _edges(log.writer[log.polled], log.shard.polls.op, log.shard.key)


def sent_before(log: Log) -> Edges:
    """ww: the records that sent the values of neighbouring indices."""
    if not len(log.picked):
        return no_edges()
    placed = np.flatnonzero(log.place > 0)
    return _edges(log.writer[log.picked[log.place[placed] - 1]], log.writer[placed], log.shard.key)


def from_the_future(log: Log, seen: Seen) -> bool:
    """Whether an ok poll ended before the send of what it returned began.

    Where no record both sends and polls, and the order of sends is no dependency, there is a cycle iff this holds for
    some log: else every send could be where it was invoked and every poll where it completed, and all edges agree.
    """
    return bool(((log.began > seen.polled) & (log.began != NEVER)).any())


def any_real_time(records: Records) -> bool:
    """Whether any ok record ended before another one, that ended as well, began."""
    judged = records.sends | records.polls
    done = np.flatnonzero(judged & (records.type == Type.OK))
    began = records.invoke[judged & ~records.open]
    began = began[began != NEVER]
    return bool(len(done)) and bool(len(began)) and int(done[0]) < int(began.max())
