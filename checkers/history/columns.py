"""Small vectorised tools over columns that several kernels need.

Everything is O((n + m) log n) without a Python loop over rows.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_BYTE: Final = 1 << 8
_NARROW: Final = 1 << 16


def largest_covering(lo: Ints, hi: Ints, weight: Ints, size: int, *, none: int) -> Ints:
    """For each position 0..size-1 the largest weight of an interval [lo, hi) that covers it.

    Args:
        lo: first positions covered.
        hi: positions behind the last one covered; intervals with hi <= lo cover nothing.
        weight: one number per interval.
        size: number of positions.
        none: the answer where no interval covers.
    """
    out = np.full(size, none, dtype=np.int64)
    keep = hi > lo
    lo, hi, weight = lo[keep], hi[keep], weight[keep]
    if not len(lo):
        return out
    # An interval is the union of two blocks of the largest power of two that fits; blocks are then halved downwards.
    level = np.frexp((hi - lo).astype(np.float64))[1] - 1
    for step in range(int(level.max()), -1, -1):
        at = level == step
        np.maximum.at(out, lo[at], weight[at])
        np.maximum.at(out, hi[at] - (1 << step), weight[at])
        if step:
            half = 1 << (step - 1)
            lower = out.copy()
            lower[half:] = np.maximum(lower[half:], out[: size - half])
            out = lower
    return out


def is_among(column: Column, few: Iterable[int]) -> Mask:
    """Which numbers are one of a few; np.isin costs as much as twenty comparisons."""
    out = np.zeros(len(column), dtype=np.bool_)
    for one in few:
        out |= column == int(one)
    return out


def sorted_times(times: Ints) -> Ints:
    """Times of operations that stand in order of invocation, ascending.

    They are nearly in order, of which the stable sort makes use: it takes an eighth of the time of NumPy's usual one.
    """
    return np.sort(times, kind="stable")


def suffix_minimum(values: Ints, *, none: int) -> Ints:
    """out[i] = min(values[i:]), with ``none`` at the end: one longer than ``values``."""
    out = np.empty(len(values) + 1, dtype=np.int64)
    out[-1] = none
    if len(values):
        out[:-1] = np.minimum.accumulate(values[::-1])[::-1]
    return out


def are_distinct(values: Ints) -> bool:
    """Whether no number occurs twice."""
    step = np.diff(values)
    return bool((step > 0).all() or (np.diff(np.sort(values)) > 0).all())


def distinct(values: Ints) -> Ints:
    """The different numbers, ascending. By sorting: NumPy's own way is to hash, and several times slower."""
    ordered = values if (np.diff(values) >= 0).all() else np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def stable_order(ids: npt.NDArray[np.integer[Any]]) -> Ints:
    """The stable order of numbers; by radix, if they are small and none is negative."""
    high = int(ids.max()) if len(ids) and ids.min() >= 0 else _NARROW
    small = np.uint8 if high < _BYTE else np.uint16 if high < _NARROW else None
    return np.argsort(ids if small is None else ids.astype(small), kind="stable")


def starts_of(*columns: Column) -> Ints:
    """The first rows of the stretches in which all of these columns stay as they are."""
    fresh = np.zeros(len(columns[0]), dtype=np.bool_)
    fresh[:1] = True
    for column in columns:
        fresh[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(fresh)


def runs(same: Mask) -> tuple[Ints, Ints]:
    """Starts and ends (exclusive) of the stretches of True."""
    edges = np.diff(np.concatenate(([0], same.astype(np.int8), [0])))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def spans(numbers: Ints, *, gap: int, limit: int) -> list[tuple[int, int]]:
    """Sorted numbers as at most ``limit`` inclusive spans; neighbours closer than ``gap`` share one.

    Where there are more spans the gap grows until they fit, so that nothing is left out.
    """
    if not len(numbers):
        return []
    ordered = distinct(numbers)
    while True:
        cut = np.flatnonzero(np.diff(ordered) > gap)
        if len(cut) < limit:
            firsts = ordered[np.concatenate(([0], cut + 1))]
            lasts = ordered[np.concatenate((cut, [len(ordered) - 1]))]
            return [(int(a), int(b)) for a, b in zip(firsts, lasts, strict=True)]
        gap *= 2
