"""Recovery times, and losses, as distributions: every fault a dot, the median, the worst tenth and the most marked.

Faults without an outage and faults without recovery are no numbers: they are counted apart, and never averaged in.
Pure.
"""

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

import msgspec

from chaos.core.matrix_results import Recovery
from reports import words

_NINE_TENTHS: Final = 0.9


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Recoveries from some faults, in seconds. ``none``: faults without an outage; ``never``: without recovery."""

    dots: tuple[float, ...]
    none: int
    never: int
    median: float | None
    p90: float | None
    longest: float | None

    @property
    def faults(self) -> int:
        """How many faults there were."""
        return len(self.dots) + self.none + self.never


class SpreadRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a table of strips: what it is about, its numbers in words, and its dots as shares of the scale."""

    name: str
    colour: str
    f: str
    faults: int
    median: str
    p90: str
    longest: str
    none: int
    never: int
    dots: tuple[float, ...]
    marks: tuple[tuple[str, float], ...]


def spread_of(recoveries: Sequence[Recovery]) -> Spread:
    """The distribution of what faults did to one kind of operation. The 90th percentile is that of the nearest rank."""
    dots = tuple(sorted(one for one in recoveries if isinstance(one, float | int)))
    return Spread(
        dots=dots,
        none=sum(one is None for one in recoveries),
        never=sum(isinstance(one, str) for one in recoveries),
        median=median(dots) if dots else None,
        p90=dots[math.ceil(_NINE_TENTHS * len(dots)) - 1] if dots else None,
        longest=dots[-1] if dots else None,
    )


def scale_of(spreads: Sequence[Spread]) -> float:
    """Where the axis of several strips ends: at the longest recovery, 1 s at least."""
    return max([1.0, *(spread.longest for spread in spreads if spread.longest is not None)])


def spread_row(
    name: str, colour: str, f: str, spread: Spread, scale: float, said: Callable[[float], str] = words.seconds
) -> SpreadRow:
    """A line of the table; ``colour`` is that of the fault, ``said`` spells a value."""
    marks = (("median", spread.median), ("p90", spread.p90))
    return SpreadRow(
        name=name,
        colour=colour,
        f=f,
        faults=spread.faults,
        median=_words(spread.median, said),
        p90=_words(spread.p90, said),
        longest=_words(spread.longest, said),
        none=spread.none,
        never=spread.never,
        dots=tuple(round(dot / scale, 4) for dot in spread.dots),
        marks=tuple((word, round(value / scale, 4)) for word, value in marks if value is not None),
    )


def _words(value: float | None, said: Callable[[float], str]) -> str:
    return "—" if value is None else said(value)
