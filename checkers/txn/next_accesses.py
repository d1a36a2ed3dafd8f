"""Which touches of a key come next in real time: pairs with a way between them that no third touch is on. Pure.

The way is one of transactions that were over before the next began, each as close as it can be: nothing began and was
over between two of them. All of a key's touches are looked at together, and nothing of the rest but what was over
while one of them was under way. So it takes time and memory for the pairs that it finds, and not for all transactions
that a key outlives (``elle.rw-register`` collapses the graph of all transactions to those of each key).

How: who goes forward from a touch is at any time known by one number, the latest end of a transaction that a way leads
to. Whatever begins then is on a way as well, as long as nothing began and was over since that end. What could is only
a touch of the key itself, for from any other transaction the way goes on.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from checkers.history.columns import Ints, Mask

_NEVER: Final = np.iinfo(np.int64).max
_NONE: Final = np.empty(0, dtype=np.int64)


class Pairs(NamedTuple):
    """Touches, by number: one, and one that comes next in real time."""

    before: Ints
    after: Ints


class _Moments(NamedTuple):
    """When each transaction began and was over, as places in the order of all these moments.

    Attributes:
        began, over: of each transaction; ``_NEVER``: it was not over.
        beginnings: of those that were over, ascending.
        ends: the moments at which one was over, ascending.
        who, began_of: which one, and when it had begun.
    """

    began: Ints
    over: Ints
    beginnings: Ints
    ends: Ints
    who: Ints
    began_of: Ints


def _moments(invoke: Ints, complete: Ints, over: Mask) -> _Moments:
    """What begins when another is over does not come after it: of moments that are equal the beginnings are first."""
    ended = np.flatnonzero(over)
    times = np.concatenate((invoke, complete[ended]))
    is_end = np.arange(len(times)) >= len(invoke)
    place = np.empty(len(times), dtype=np.int64)
    place[np.lexsort((is_end, times))] = np.arange(len(times))
    began, over_at = place[: len(invoke)], np.full(len(invoke), _NEVER)
    over_at[ended] = place[len(invoke) :]
    who = ended[np.argsort(over_at[ended])]
    return _Moments(began, over_at, np.sort(began[who]), over_at[who], who, began[who])


class _Key:
    """The touches of one key by transactions that may have happened.

    Args:
        moments: of all transactions.
        touching: the transactions, by their beginnings.
        is_own: of each transaction whether it is one of them.
    """

    def __init__(self, moments: _Moments, touching: Ints, is_own: Mask) -> None:
        self._m, self._is_own = moments, is_own
        self.began = moments.began[touching]
        over = moments.over[touching]
        ended = np.flatnonzero(over != _NEVER)
        ended = ended[np.argsort(over[ended])]
        self._began, self._over = self.began[ended], over[ended]
        self._beside = [self._others(*both) for both in zip(self._began.tolist(), self._over.tolist(), strict=True)]
        self._latest = np.array([max(some, default=-1) for some in self._beside], dtype=np.int64)

    def _others(self, began: int, over: int) -> list[int]:
        """When the others had begun that were over in a stretch."""
        lo, hi = np.searchsorted(self._m.ends, (began, over)).tolist()
        some = slice(lo, hi)
        found: list[int] = self._m.began_of[some][~self._is_own[self._m.who[some]]].tolist()
        return found

    def ways(self, start: int) -> Iterator[tuple[int, int]]:
        """The stretches in which whatever begins is on a way from what was over at ``start``; bounds excluded."""
        before: list[tuple[int, int]] = []
        while True:
            end = self._closed(start, before)
            yield start, end
            if end == _NEVER:
                return
            before.append((start, end))
            start = self._opened(end, before)
            if start == _NEVER:
                return

    def _closed(self, start: int, before: list[tuple[int, int]]) -> int:
        """When the first touch is over that no other on a way was over beside: what begins then comes behind it."""
        at = int(np.searchsorted(self._over, start))
        for one in (at + np.flatnonzero((self._began[at:] > start) & (self._latest[at:] < start))).tolist():
            if not any(lo < began < hi for began in self._beside[one] for lo, hi in before):
                return int(self._over[one])
        return _NEVER

    def _opened(self, end: int, before: list[tuple[int, int]]) -> int:
        """When the first was over that a way led to and that was still under way; ``_NEVER``: there is none."""
        m, at = self._m, int(np.searchsorted(self._m.ends, end, side="right"))
        under_way = int(np.searchsorted(m.beginnings, end)) - at
        while under_way:
            began = int(m.began_of[at])
            if began < end:
                if not self._is_own[m.who[at]] and any(lo < began < hi for lo, hi in before):
                    return int(m.ends[at])
                under_way -= 1
            at += 1
        return _NEVER


def next_accesses(invoke: Ints, complete: Ints, over: Mask, happened: Mask, transaction: Ints, key: Ints) -> Pairs:
    """Touches of one key, one over before the other begins, and a way in real time without a third between them.

    Args:
        invoke: when each transaction began.
        complete: when it was over.
        over: which of them are known to have been over then; a way leads through no other.
        happened: which may have taken effect; the others touch nothing.
        transaction: of each touch.
        key: of each touch.
    """
    moments = _moments(invoke, complete, over)
    touching = np.flatnonzero(happened[transaction])
    touching = touching[np.lexsort((moments.began[transaction[touching]], key[touching]))]
    before, after = [_NONE], [_NONE]
    is_own = np.zeros(len(invoke), dtype=np.bool_)
    for rows in np.split(touching, np.flatnonzero(np.diff(key[touching])) + 1):
        own = transaction[rows]
        is_own[own] = True
        one = _Key(moments, own, is_own)
        for row, start in zip(rows.tolist(), moments.over[own].tolist(), strict=True):
            if start == _NEVER:
                continue
            for bounds in one.ways(start):
                lo, hi = np.searchsorted(one.began, bounds).tolist()
                after.append(rows[lo:hi])
                before.append(np.full(hi - lo, row))
        is_own[own] = False
    return Pairs(np.concatenate(before), np.concatenate(after))
