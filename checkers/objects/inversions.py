"""Pairs that went in one after the other and came out the other way round.

Takes intervals only.
"""

from typing import NamedTuple

import numpy as np

from checkers.objects.calls import Ints


class Passage(NamedTuple):
    """Per value: when it began to go in and was in, when it began to come out and was out. Columns of equal length."""

    in_begun: Ints
    in_done: Ints
    out_begun: Ints
    out_done: Ints


def inversions(passage: Passage, limit: int) -> tuple[int, list[tuple[int, int]]]:
    """How many values came out before one that had gone in before them, and the first few with that one.

    A pair (a, b): a was in before b began to go in, and b was out before a began to come out. Takes a sort.
    """
    order = np.argsort(passage.in_done, kind="stable")
    if not len(order):
        return 0, []
    latest = np.maximum.accumulate(passage.out_begun[order])
    before = np.searchsorted(passage.in_done[order], passage.in_begun)
    bad = np.flatnonzero((before > 0) & (passage.out_done < latest[np.maximum(before - 1, 0)]))
    pairs = [(int(order[int(np.argmax(passage.out_begun[order][: before[b]]))]), int(b)) for b in bad[:limit]]
    return len(bad), pairs
