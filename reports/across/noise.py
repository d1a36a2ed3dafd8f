"""Whether two runs differ by more than their own spread explains: a rank test, exact where values are few. Pure.

The test is that of Wilcoxon, Mann and Whitney, two-sided, with ties by midranks. It asks nothing of the shape of the
values, so faults without an outage count as the shortest recovery, and faults without recovery as the longest.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.matrix_results import Recovery

LEVEL: Final = 0.01
"""A difference is called one if chance alone makes one so large less often than this: many figures are compared."""
ENOUGH: Final = 5
"""With so many values on both sides the test can come out below ``LEVEL``."""
EXACT: Final = 60
"""Values of both sides together up to which all their orders are counted; above it their sum is as good as normal."""

Word = Literal["higher", "lower", "no clear difference", "within precision", "too few"]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How the second of two samples stands to the first. ``p``: None where there are too few to ask."""

    word: Word
    why: str
    p: float | None = None


def as_numbers(recoveries: Sequence[Recovery]) -> tuple[float, ...]:
    """Recoveries in their order: no outage is 0 s, no recovery is endless."""
    return tuple(0.0 if one is None else math.inf if isinstance(one, str) else float(one) for one in recoveries)


def difference(first: Sequence[float], second: Sequence[float], noun: str, precision: float = 0.0) -> Difference:
    """Hold a sample against another.

    Args:
        first: the values of the one run.
        second: those of the other.
        noun: what the values are of, e.g. ``faults``.
        precision: medians that differ by no more do not differ.
    """
    sizes = f"{len(first)} and {len(second)} {noun}"
    if 2 / math.comb(len(first) + len(second), len(first)) > LEVEL:
        return Difference(word="too few", why=f"too few to tell: {sizes}; {ENOUGH} each are enough")
    p = rank_p(first, second)
    if p >= LEVEL:
        return Difference(word="no clear difference", why=f"within the spread of {sizes}", p=p)
    before, after = median(first), median(second)
    if before == after or abs(after - before) <= precision:
        return Difference(word="within precision", why=f"medians differ by less than they are precise; {sizes}", p=p)
    word: Word = "higher" if after > before else "lower"
    return Difference(word=word, why=f"beyond the spread of {sizes}", p=p)


def rank_p(first: Sequence[float], second: Sequence[float]) -> float:
    """How often chance alone would order two samples so unevenly, or more so; both have at least one value."""
    ranks = _doubled_midranks(np.array([*first, *second], dtype=np.float64))
    seen = int(ranks[: len(first)].sum())
    middle = len(first) * (len(ranks) + 1)  # of doubled ranks
    if len(ranks) > EXACT:
        return _normal_p(ranks, len(first), seen - middle)
    ways = _sums(ranks, len(first))
    far = np.abs(np.arange(len(ways)) - middle) >= abs(seen - middle)
    return float(ways[far].sum() / ways.sum())


def _doubled_midranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Twice the rank of each value from 1; those that are equal share the middle of their ranks."""
    _, place, many = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(many)
    return np.asarray((2 * last - many + 1)[place], dtype=np.int64)


def _sums(ranks: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.float64]:
    """In how many ways so many of the ranks have each sum."""
    ways = np.zeros((size + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    return np.asarray(ways[size])


def _normal_p(ranks: npt.NDArray[np.int64], size: int, away: int) -> float:
    """The same where the sum of the ranks is as good as normal; its variance is that of these very ranks."""
    number = len(ranks)
    variance = size * (number - size) / (number - 1) * float(ranks.var())
    return math.erfc(abs(away) / math.sqrt(2 * variance)) if variance else 1.0
