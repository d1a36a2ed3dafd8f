"""Anomalies that a scan finds: their number, and some of them in words."""

from collections.abc import Callable
from typing import Final, NamedTuple

from checkers.history.columns import Ints

EXAMPLES: Final = 8
"""So many cases of an anomaly are told; all are counted."""
_LOOKED_AT: Final = 8 * EXAMPLES
"""Of so many cases those are told that differ in words."""


class Case(NamedTuple):
    """One case. ``transactions``: those that show it, the guilty one first."""

    sentence: str
    transactions: tuple[int, ...]


class Cases(NamedTuple):
    """All cases of one anomaly. ``number``: how many there are. ``told``: the first that differ in words."""

    name: str
    number: int
    told: tuple[Case, ...]


def counted_cases(name: str, *columns: Ints, tell: Callable[..., Case]) -> list[Cases]:
    """One anomaly with a case per row of some columns; nothing without rows."""
    count = len(columns[0])
    if not count:
        return []
    rows = zip(*(column[:_LOOKED_AT] for column in columns), strict=True)
    told: dict[str, Case] = {}
    for row in rows:
        case = tell(*map(int, row))
        told.setdefault(case.sentence, case)
        if len(told) == EXAMPLES:
            break
    return [Cases(name, count, tuple(told.values()))]
