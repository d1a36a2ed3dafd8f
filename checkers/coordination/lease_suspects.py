"""Which leases of a place may have anything wrong, by columns; and how many had to be alive during a look.

A history has very many leases, of which nearly all are as they have to be. ``lease`` looks at those that are named here
one by one. Names more than are wrong: an end is taken to be as early as it can have been.
"""

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.models.coordination.lease import F
from chaos.models.objects.answers import TOLD
from checkers.coordination.lease_facts import MOST_NS_PER_MS, SURE_NS_PER_MS, Sights
from checkers.history.check_input import QueueShard
from checkers.history.columns import Ints, Mask

NEVER: Final = np.iinfo(np.int64).max
PAIRS: Final = 1 << 22
"""So many pairs of a lease and a look are held at a time."""


class Suspects(NamedTuple):
    """The numbers of leases that may have anything wrong, ascending, and how many of all had to be alive in a look."""

    numbers: Ints
    alive: int


class _Kept(NamedTuple):
    """Acknowledged grants and renewals by lease, then invocation; ``starts`` of each lease.

    ``rank``: the lease's place times the length of ``moments``, and where the invocation is among ``moments``.
    ``until``: how long the lease lives by it and those before.
    """

    rank: Ints
    moments: Ints
    until: Ints
    starts: Ints


class _Steps(NamedTuple):
    """All that was asked for leases: which lease by its place among ``names``, and the columns."""

    names: Ints
    lease: Ints
    rows: Ints

    def first(self, values: Ints, chosen: Mask) -> Ints:
        """Of each lease the lowest of some values; ``NEVER`` without one."""
        out = np.full(len(self.names), NEVER, dtype=np.int64)
        np.minimum.at(out, self.lease[chosen], values[chosen])
        return out

    def last(self, values: Ints, chosen: Mask) -> Ints:
        """Of each lease the highest of some values; -1 without one."""
        out = np.full(len(self.names), -1, dtype=np.int64)
        np.maximum.at(out, self.lease[chosen], values[chosen])
        return out


def suspects_of(shard: QueueShard, sights: Sights, within_ns: int) -> Suspects:
    """Look at all leases of a place.

    Args:
        shard: its rows.
        sights: which look saw which lease.
        within_ns: so long after its length a lease must have ended, and the rest of ``lease_ends``; 0: nobody knows.
    """
    ops, columns = shard.ops, shard.operations
    rows = np.flatnonzero((ops.f != F.READ) & (ops.type != Type.NOT_SENT))
    names = np.unique(np.concatenate((columns["lease"][rows], sights.number)))
    steps = _Steps(names, np.searchsorted(names, columns["lease"][rows]), rows)
    f, kind, invoke, complete = ops.f[rows], ops.type[rows], ops.invoke[rows], ops.complete[rows]
    seen, place = np.searchsorted(names, sights.number), sights.place
    ok, longer = kind == Type.OK, f != F.REVOKE
    known = steps.first(complete, ok & (f == F.GRANT))
    np.minimum.at(known, seen, sights.complete[place])
    kept = _kept(
        steps, columns["told_ms"][rows] * SURE_NS_PER_MS, invoke, longer & ok & (columns["answer"][rows] == TOLD)
    )
    maybe_revoked = steps.first(invoke, ~longer & (kind != Type.FAIL))
    alive, missed = _alive(kept, known, maybe_revoked, sights, seen * len(sights.invoke) + place)
    gone = np.minimum(steps.first(complete, ~longer & ok), _missed_from(known, sights, seen))
    seen_last = np.full(len(names), -1, dtype=np.int64)
    np.maximum.at(seen_last, seen, sights.invoke[place])
    kept_last = steps.last(invoke, longer & ok & (columns["answer"][rows] == TOLD))
    asked = steps.last(np.zeros(len(rows), dtype=np.int64), (f == F.GRANT) & (kind != Type.FAIL)) == 0
    doubted = np.bincount(seen, minlength=len(names)) > 0
    wrong = missed | (kept_last > gone) | (seen_last > gone) | (doubted & ~asked) | _twice(seen, place, len(names))
    if within_ns:
        settled = steps.last(complete, longer & (kind != Type.INFO))
        doubtful = steps.last(invoke, longer & (kind == Type.INFO))
        term = np.maximum(
            *(steps.last(columns[name][rows], np.ones(len(rows), dtype=np.bool_)) for name in ("told_ms", "ttl_ms"))
        )
        wrong |= seen_last > np.maximum(settled, doubtful) + term * MOST_NS_PER_MS + within_ns
    return Suspects(names[wrong], int(np.count_nonzero(alive)))


def _kept(steps: _Steps, lives: Ints, invoke: Ints, chosen: Mask) -> _Kept:
    """What keeps leases alive."""
    lease, begun, until = steps.lease[chosen], invoke[chosen], invoke[chosen] + lives[chosen]
    order = np.lexsort((begun, lease))
    lease, begun, until = lease[order], begun[order], until[order]
    moments, ends = np.sort(begun), np.sort(until)
    size = max(1, len(moments))
    latest = np.maximum.accumulate(lease * size + np.searchsorted(ends, until))
    return _Kept(
        lease * size + np.searchsorted(moments, begun),
        moments,
        ends[latest % size] if len(ends) else ends,
        np.searchsorted(lease, np.arange(len(steps.names) + 1)),
    )


def _alive(kept: _Kept, known: Ints, revoked: Ints, sights: Sights, shown: Ints) -> tuple[Mask, Mask]:
    """Of each lease whether it had to be there during a look, and whether such a look missed it."""
    size, looks = len(known), len(sights.invoke)
    alive, missed = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    own = np.flatnonzero((kept.starts[1:] > kept.starts[:-1]) & (known != NEVER))
    first = np.searchsorted(sights.invoke, known[own], side="right")
    end = np.minimum(kept.until[kept.starts[own + 1] - 1], revoked[own])
    count = np.maximum(np.searchsorted(sights.invoke, end, side="left") - first, 0)
    shown = np.sort(shown)
    for some in _pieces(count):
        lease, many = own[some], count[some]
        of = np.repeat(lease, many)
        within = np.arange(len(of)) - np.repeat(np.cumsum(many) - many, many)
        look = np.repeat(first[some], many) + within
        by = sights.complete[look]
        rank = of * max(1, len(kept.moments)) + np.searchsorted(kept.moments, by, side="right")
        at = np.searchsorted(kept.rank, rank, side="left") - 1
        there = (at >= kept.starts[of]) & (by < kept.until[np.maximum(at, 0)]) & (by < revoked[of])
        alive[of[there]] = True
        pair = of[there] * looks + look[there]
        place = np.minimum(np.searchsorted(shown, pair), len(shown) - 1)
        missed[of[there][shown[place] != pair] if len(shown) else of[there]] = True
    return alive, missed


def _pieces(count: Ints) -> list[slice]:
    """Stretches of leases that have few looks together."""
    bounds, total = [0], np.cumsum(count)
    while bounds[-1] < len(count):
        start = bounds[-1]
        done = int(total[start - 1]) if start else 0
        bounds.append(max(start + 1, int(np.searchsorted(total, done + PAIRS, side="right"))))
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def _missed_from(known: Ints, sights: Sights, seen: Ints) -> Ints:
    """Of each lease when the first look that missed it may have been answered, or one beside it that did, at best."""
    looks, size = len(sights.invoke), len(known)
    first = np.searchsorted(sights.invoke, known, side="right")
    later = sights.place >= first[seen]
    lease, place = seen[later], sights.place[later]
    starts = np.searchsorted(lease, np.arange(size))
    running = place - first[lease] == np.arange(len(lease)) - starts[lease]
    missed = first + np.bincount(lease[running], minlength=size)
    soonest = np.append(np.minimum.accumulate(sights.complete[::-1])[::-1], NEVER)
    return np.where(known == NEVER, NEVER, soonest[np.minimum(missed, looks)])


def _twice(seen: Ints, place: Ints, size: int) -> Mask:
    """Of each lease whether one look shows it twice."""
    out = np.zeros(size, dtype=np.bool_)
    out[seen[1:][(seen[1:] == seen[:-1]) & (place[1:] == place[:-1])]] = True
    return out
