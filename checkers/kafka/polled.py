"""What polls returned, by log, without putting every message of a history in the order of its log.

A poll returns a log's messages as a stretch of neighbouring rows; so it is stretches that are put in order. And where
many processes poll a log, its polls say the same over and over: where they contradict nobody (``sightings_of`` proves
it in the order of the table, where messages of one time are near each other, hence in cache), each message is kept
once. A log for which that cannot be proven has no ``Sightings``, and is judged by its rows.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from chaos.formats.kafka_columns import NONE, Mop, Mops
from checkers.history.columns import Ints, Mask, stable_order
from checkers.kafka.row_stretches import Stretches, rows_of

_ROWS: Final = 1 << 17
"""Messages looked at together: what is made of them fits in the cache of a core."""
_SPREAD: Final = 4
"""Offsets up to so many times as far apart as there are messages are their own places."""


class Polled:
    """The messages polled of each log as stretches, log after log.

    Attributes:
        mops, keys: the table of messages, and how many logs there are.
        stretches: all stretches of the table.
        start, end, op, key: as of ``Stretches``, of polls, ascending in each log.
        bounds: key -> its first stretch; one longer than there are keys.
        disregarded: logs of messages that count for nothing, since their record does not.
    """

    def __init__(self, mops: Mops, keys: int, stretches: Stretches, judged: Mask) -> None:
        """Choose them. ``judged``: the records that count."""
        self.mops, self.keys, self.stretches = mops, keys, stretches
        own = np.flatnonzero(stretches.kind == Mop.POLLED)
        wanted = judged[stretches.op[own]]
        self.disregarded = stretches.key[own[~wanted]]
        if len(self.disregarded):
            own = own[wanted]
        self._start, self._end = stretches.start[own], stretches.end[own]
        key = stretches.key[own]
        self._order = stable_order(key)
        self.start, self.end, self.key = self._start[self._order], self._end[self._order], key[self._order]
        self.op: Ints = stretches.op[own][self._order]
        self.bounds = np.concatenate(([0], np.cumsum(np.bincount(key, minlength=keys))))

    def rows(self, key: int) -> Ints:
        """The rows of one log, ascending."""
        return rows_of(self.of(key, self.start), self.of(key, self.end))

    def records(self, key: int) -> Ints:
        """The record of each of these rows."""
        return np.repeat(self.of(key, self.op), self.of(key, self.end) - self.of(key, self.start))

    def size(self, key: int) -> int:
        """How many messages of one log were polled."""
        return int((self.of(key, self.end) - self.of(key, self.start)).sum())

    def first(self, column: Ints) -> Ints:
        """What a column of messages says of the first row of each stretch.

        Read in the order of the table, then put in that of the logs: the other way round it would be read all over.
        """
        return column.take(self._start).take(self._order)

    def last(self, column: Ints) -> Ints:
        """Likewise of the last row of each."""
        return column.take(self._end - 1).take(self._order)

    def of(self, key: int, column: Ints) -> Ints:
        """One log's part of a column of stretches."""
        return column[int(self.bounds[key]) : int(self.bounds[key + 1])]


@dataclass(frozen=True, slots=True)
class Sightings:
    """All that the polls of a log returned, each message once: all were ok, knew every offset, and went upwards.

    Attributes:
        op: the first record that returned a message.
        value, offset: the message, ascending by offset, which no two share.
        polls: the records that returned messages, ascending.
        begin, end: the first and the last value that each returned.
        count: how many messages each returned.
    """

    op: Ints
    value: Ints
    offset: Ints
    polls: Ints
    begin: Ints
    end: Ints
    count: Ints


@dataclass(frozen=True, slots=True)
class _Room:
    """Places for the offsets of each log. ``shift``: what makes a place of an offset. ``edges``: key -> first place."""

    shift: Ints
    edges: Ints


def sightings_of(polled: Polled, ok: Mask) -> list[Sightings | None]:
    """By key what the polls of a log showed; None where that does not say as much as its rows.

    Args:
        polled: what was polled.
        ok: the records that ended so.
    """
    mops = polled.mops
    fine = _upwards(polled, ok)
    room = _room(polled, fine)
    row, value = _placed(mops, room, fine)
    found = np.flatnonzero(row >= 0)
    first, value = mops.op[row[found]], value[found]
    edges = np.searchsorted(found, room.edges)
    heads = np.flatnonzero(~_again(polled))
    tails = np.append(heads[1:], len(polled.op))[: len(heads)] - 1
    behind = np.cumsum(polled.end - polled.start)
    count = np.diff(behind[tails], prepend=0)
    polls, begin, end = polled.op[heads], polled.first(mops.value)[heads], polled.last(mops.value)[tails]
    bounds = np.searchsorted(heads, polled.bounds)
    out: list[Sightings | None] = [None] * polled.keys
    for key in np.flatnonzero(fine).tolist():
        part, own = slice(int(edges[key]), int(edges[key + 1])), slice(int(bounds[key]), int(bounds[key + 1]))
        message = first[part], value[part], found[part] - room.shift[key]
        out[key] = Sightings(*message, polls[own], begin[own], end[own], count[own])
    return out


def _again(polled: Polled) -> Mask:
    """The stretches that go on with what the record of the one before had returned of the same log."""
    again = np.zeros(len(polled.op), dtype=bool)
    again[1:] = (polled.op[1:] == polled.op[:-1]) & (polled.key[1:] == polled.key[:-1])
    return again


def _upwards(polled: Polled, ok: Mask) -> Mask:
    """The logs of which all polling records were ok and returned ascending offsets."""
    mops, key = polled.mops, polled.key
    fine = np.ones(polled.keys, dtype=bool)
    fine[polled.disregarded] = False
    fine[key[~ok[polled.op]]] = False
    again = np.flatnonzero(_again(polled))
    fine[key[again[mops.offset[polled.start[again]] <= mops.offset[polled.end[again - 1] - 1]]]] = False
    back = np.zeros(len(mops.offset), dtype=bool)
    back[1:] = mops.offset[1:] <= mops.offset[:-1]
    back[polled.stretches.start] = False
    rows = np.flatnonzero(back)
    fine[mops.key[rows[mops.kind[rows] == Mop.POLLED]]] = False
    return fine


def _room(polled: Polled, fine: Mask) -> _Room:
    """Room for the fine logs; those that lack an offset, or whose offsets are too far apart, cease to be fine."""
    offset, bounds = polled.mops.offset, polled.bounds
    low, size = np.zeros(polled.keys, dtype=np.int64), np.zeros(polled.keys, dtype=np.int64)
    there = np.flatnonzero(bounds[1:] > bounds[:-1])
    if len(there):
        low[there] = np.minimum.reduceat(polled.first(offset), bounds[there])
        high = np.maximum.reduceat(polled.last(offset), bounds[there])
        count = np.add.reduceat(polled.end - polled.start, bounds[there])
        size[there] = high - low[there] + 1
        apart = high.view(np.uint64) - low[there].view(np.uint64)  # also of the lowest and the highest number there is
        fine[there[(low[there] == NONE) | (apart >= _SPREAD * count.view(np.uint64))]] = False
    size[~fine] = 0
    edges = np.concatenate(([0], np.cumsum(size)))
    return _Room(edges[:-1] - low, edges)


def _placed(mops: Mops, room: _Room, fine: Mask) -> tuple[Ints, Ints]:
    """The first row that shows each place, -1 for none, and the value there.

    A log with two values at one place ceases to be fine.
    """
    row, value = np.full(int(room.edges[-1]), -1, dtype=np.int64), np.empty(int(room.edges[-1]), dtype=np.int64)
    polled, all_fine = mops.kind == Mop.POLLED, bool(fine.all())
    for begin in reversed(range(0, len(polled), _ROWS)):  # the last assignment to a place holds
        piece = slice(begin, begin + _ROWS)
        wanted = polled[piece] if all_fine else polled[piece] & fine[mops.key[piece]]
        rows = np.flatnonzero(wanted) + begin
        place = mops.offset.take(rows) + room.shift.take(mops.key.take(rows))
        told = mops.value.take(rows)
        wrong = (value.take(place) != told) & (row.take(place) >= 0)
        value[place] = told
        row[place[::-1]] = rows[::-1]
        wrong |= value.take(place) != told
        fine[mops.key[rows[wrong]]] = False
    return row, value
