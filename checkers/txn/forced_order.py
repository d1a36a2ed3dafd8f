"""The order of commits that reads force, for read atomic and for causal consistency.

A transaction that read a key from one writer, and saw another writer of the same key, shows that the other one
committed before. All such steps together have no circle if and only if some order of commits explains the history
(Biswas and Enea, "On the Complexity of Checking Transactional Consistency", OOPSLA 2019). Under read atomic a
transaction sees those whose writes it read; under causal consistency also whatever these saw.

For read atomic, each pair of a writer and a reader is compared over whichever of them did less (Moldrup and
Pavlogiannis, "AWDIT: An Optimal Weak Database Isolation Tester", PLDI 2025). For causal consistency that paper keeps
the last writer of each session. One of our models knows no sessions, so each key has a frontier instead: the writers
that a transaction saw and that are not yet known to come before another one it saw. A read leaves one writer in it.
"""

import heapq
from typing import Final, NamedTuple

import numpy as np

from chaos.basics.variable_lengths import offsets, spread
from checkers.cycles.components import Arrows
from checkers.history.columns import Ints, Mask
from checkers.txn.visibility import NOTHING, Visibility, Writes

STEPS: Final = 100_000_000
"""Steps of the search over all keys; a history that needs more is not decided."""

Frontier = frozenset[int]


class Forced(NamedTuple):
    """What reads that hide a write say of the order of commits.

    ``row``: the write that is hidden, of a transaction that the reader saw. ``shown``: the row of the write that the
    read shows, whose transaction comes after that of the hidden one; -1 where the read shows no write that could come
    after it (nothing at all, or the beginning of a list), so the reader itself would have to be before what it saw.
    """

    reader: Ints
    read: Ints
    row: Ints
    shown: Ints

    def only(self, chosen: Mask | Ints) -> "Forced":
        """Those at some places."""
        return Forced(self.reader[chosen], self.read[chosen], self.row[chosen], self.shown[chosen])

    def arrows(self, writes: Writes) -> Arrows:
        """The steps between transactions."""
        hidden = writes.writer[self.row]
        after = self.shown >= 0
        return Arrows(
            np.where(after, hidden, self.reader), np.where(after, writes.writer[np.maximum(self.shown, 0)], hidden)
        )


_NONE: Final = np.empty(0, dtype=np.int64)
NO_FORCED: Final = Forced(_NONE, _NONE, _NONE, _NONE)


class OutOfStepsError(Exception):
    """There was more to be looked at than was asked for."""


def of_read_atomic(seen: Visibility) -> Forced:
    """What follows from reads of transactions whose writes the same transaction read."""
    pairs, reads, writes, keys = seen.pairs, seen.reads, seen.writes, seen.keys
    written, read = writes.writer * keys + writes.key, reads.reader * keys + reads.key
    of_writer = offsets(np.bincount(writes.writer, minlength=seen.size))
    of_reader = offsets(np.bincount(reads.reader, minlength=seen.size))
    writes_of, reads_of = np.diff(of_writer)[pairs.writer], np.diff(of_reader)[pairs.reader]
    fewer_writes = writes_of <= reads_of
    by_write, by_read = np.flatnonzero(fewer_writes), np.flatnonzero(~fewer_writes)

    row = spread(of_writer[pairs.writer[by_write]], writes_of[by_write])
    reader = np.repeat(pairs.reader[by_write], writes_of[by_write])
    at = _place(read, reader * keys + writes.key[row])
    other_at = spread(of_reader[pairs.reader[by_read]], reads_of[by_read])
    writer = np.repeat(pairs.writer[by_read], reads_of[by_read])
    other_row = _place(written, writer * keys + reads.key[other_at])

    row, at = np.concatenate((row, other_row)), np.concatenate((at, other_at))
    both = (row >= 0) & (at >= 0)
    row, at = row[both], at[both]
    hidden = seen.hides(reads.shown[at], row)
    return _forced(seen, at[hidden], row[hidden])


def _place(codes: Ints, wanted: Ints) -> Ints:
    """Where wanted codes are first among ascending ones; -1 for nowhere."""
    if not len(codes):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    return np.where(codes[at] == wanted, at, -1)


def _forced(seen: Visibility, at: Ints, row: Ints) -> Forced:
    """Hidden writes of reads at some places."""
    reads = seen.reads
    shown = np.full(len(at), -1, dtype=np.int64) if seen.lists else reads.row[at]
    return Forced(reads.reader[at], reads.micro[at], row, shown)


def order_of(seen: Visibility, arrows: Arrows) -> list[int]:
    """Nodes behind all that lead to them, otherwise by beginning; fewer than there are if arrows go round.

    Args:
        seen: what transactions saw; a point is where its writer is.
        arrows: between transactions and points.
    """
    size = seen.size + seen.points
    if not seen.points and bool((arrows.source < arrows.target).all()):
        return list(range(size))
    rank = np.arange(size)
    points = seen.of_points
    written = points.row >= 0
    rank[points.reader[written]] = seen.writes.writer[points.row[written]]
    urgent = (rank * size + np.arange(size)).tolist()
    by_source = np.argsort(arrows.source, kind="stable")
    target = arrows.target[by_source].tolist()
    first = offsets(np.bincount(arrows.source, minlength=size)).tolist()
    waits = np.bincount(arrows.target, minlength=size).tolist()
    ready = [urgent[node] for node in range(size) if not waits[node]]
    heapq.heapify(ready)
    found = []
    while ready:
        node = heapq.heappop(ready) % size
        found.append(node)
        for other in target[first[node] : first[node + 1]]:
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, urgent[other])
    return found


def of_causal(seen: Visibility, arrows: Arrows, order: list[int], steps: int = STEPS) -> Forced:
    """What follows from reads of transactions that saw others over any number of steps.

    Args:
        seen: what transactions saw.
        arrows: who saw whom in one step, over points, without a circle.
        order: all nodes, behind those that lead to them.
        steps: how many are taken at most.

    Raises:
        OutOfStepsError: those do not suffice.
    """
    search = _Search(seen, arrows, order, steps)
    for key in range(seen.keys):
        search.look_at(key)
    at, row = (np.array(column, dtype=np.int64) for column in (search.at, search.row))
    return _forced(seen, at, row)


class _ByKey:
    """Rows of a table, key after key."""

    def __init__(self, key: Ints, keys: int) -> None:
        self._rows = np.argsort(key, kind="stable")
        self._first = offsets(np.bincount(key, minlength=keys)).tolist()

    def of(self, key: int) -> Ints:
        """The rows of one key."""
        return self._rows[self._first[key] : self._first[key + 1]]


class _Search:
    """The frontiers of one key after the other, along the order of nodes.

    ``at``, ``row``: the reads that hide a write, and the write.
    """

    def __init__(self, seen: Visibility, arrows: Arrows, order: list[int], steps: int) -> None:
        self.seen, self.left = seen, steps
        self._written_at: list[int] = seen.writes.place.tolist()
        self.at: list[int] = []
        self.row: list[int] = []
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self._place = place
        target = place[arrows.target]
        by_target = np.argsort(target, kind="stable")
        self._before = place[arrows.source][by_target].tolist()
        self._first = offsets(np.bincount(target, minlength=len(order))).tolist()
        self._reads = _ByKey(seen.reads.key, seen.keys)
        self._points = _ByKey(seen.of_points.key, seen.keys)
        self._writes = _ByKey(seen.writes.key, seen.keys)

    def look_at(self, key: int) -> None:
        """Find what reads of one key hide."""
        seen = self.seen
        reads, points, writes = self._reads.of(key), self._points.of(key), self._writes.of(key)
        if not len(reads) or not len(writes):
            return
        written = dict(zip(self._place[seen.writes.writer[writes]].tolist(), writes.tolist(), strict=True))
        reading: dict[int, list[tuple[int, int, int]]] = {}
        for table, rows, is_point in ((seen.of_points, points, True), (seen.reads, reads, False)):
            nodes = self._place[table.reader[rows]].tolist()
            known = zip(rows.tolist(), table.shown[rows].tolist(), table.row[rows].tolist(), strict=True)
            for node, (at, shown, row) in zip(nodes, known, strict=True):
                reading.setdefault(node, []).append((-1 if is_point else at, shown, row))
        self._walk(min(written), max(reading), written, reading)

    def _walk(self, lo: int, hi: int, written: dict[int, int], reading: dict[int, list[tuple[int, int, int]]]) -> None:
        """The nodes from the first writer to the last reader."""
        if hi < lo:
            return
        self._take(hi - lo + 1)
        before, first = self._before, self._first
        frontiers: list[Frontier | None] = [None] * (hi - lo + 1)
        alone = {row: frozenset((row,)) for row in written.values()}
        for node in range(lo, hi + 1):
            frontier: Frontier | None = None
            for other in before[first[node] : first[node + 1]]:
                if other >= lo:
                    more = frontiers[other - lo]
                    if more is not None and more is not frontier:
                        frontier = more if frontier is None else self._both(frontier, more)
            for one in reading.get(node, ()):
                frontier = self._read(frontier, *one, alone)
            if node in written:
                frontier = alone[written[node]]
            frontiers[node - lo] = frontier

    def _both(self, one: Frontier, other: Frontier) -> Frontier:
        self._take(len(one) + len(other))
        return one | other

    def _take(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise OutOfStepsError

    def _read(
        self, frontier: Frontier | None, at: int, shown: int, row: int, alone: dict[int, Frontier]
    ) -> Frontier | None:
        """The frontier behind a read. ``at``: the read, -1 for a point."""
        if not frontier or frontier is alone.get(row):
            return frontier
        self._take(len(frontier))
        places = self._written_at
        if self.seen.lists:
            hidden = [one for one in frontier if places[one] > shown]
        else:
            hidden = [one for one in frontier if places[one] != shown]
        if at >= 0:
            self.at += [at] * len(hidden)
            self.row += hidden
            hidden = [] if shown != NOTHING else hidden
        if row < 0:
            return frontier
        return alone[row].union(hidden) if hidden else alone[row]
