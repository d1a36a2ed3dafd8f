"""What is held for certain, of locks and of semaphores: from when to when, and who began while too many held.

The precise words are in semantics.md, 32 and 57. Everything is decided in n log n.
"""

import heapq
from typing import Final

import numpy as np

from checkers.history.columns import Ints

NS_PER_MS: Final = 1_000_000
SURE_NS_PER_MS: Final = NS_PER_MS * 99 // 100
"""So much of a millisecond of a lease is sure: the service's clock may run a little faster than ours."""

Pairs = list[tuple[int, int]]


def held_until(number: Ints, lease_ends: Ints, back_number: Ints, back_asked: Ints) -> Ints:
    """Until when each grant held for certain: its lease, or the first request to give back what has its number."""
    ends = lease_ends.copy()
    if len(back_number):
        order = np.lexsort((back_asked, back_number))
        names, first = np.unique(back_number[order], return_index=True)
        place = np.minimum(np.searchsorted(names, number), len(names) - 1)
        asked = back_asked[order][first][place]
        ends = np.where(names[place] == number, np.minimum(ends, asked), ends)
    return ends


def too_many(begins: Ints, ends: Ints, most: int) -> list[tuple[int, ...]]:
    """Grants that began for certain while so many others held for certain: those, the longest first, and the grant.

    Intervals are half open. Only the ``most`` longest of those that have begun have to be known.
    """
    own = np.flatnonzero(begins < ends)
    holding: list[tuple[int, int, int]] = []
    out: list[tuple[int, ...]] = []
    for place, one in enumerate(own[np.argsort(begins[own], kind="stable")].tolist()):
        if len(holding) == most and holding[0][0] > begins[one]:
            out.append((*(who for _, _, who in sorted(holding, reverse=True)), one))
        heapq.heappush(holding, (int(ends[one]), -place, one))
        if len(holding) > most:
            heapq.heappop(holding)
    return out
