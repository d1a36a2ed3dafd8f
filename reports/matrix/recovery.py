"""How long changes of a run's objects stood still under each fault, and what they are called.

A row names the words of its model that recovery is measured of and that change an object: sends to queues, writes of
registers. Pure.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from chaos.core.matrix_results import NEVER, CellRow, Recovery
from reports.page.spread import Spread, spread_of

ANY: Final = "change"
"""What changes of several kinds are called together."""
OF_OLDER_ROWS: Final = ("send",)
"""The changes of a row that does not say them: it is of a log."""


def recovery_of(row: CellRow) -> tuple[Recovery, ...]:
    """Recovery of changes from each fault of a run: where there are several kinds, of the one that took longest."""
    return tuple(_longest(of_fault) for of_fault in zip(*(row.rto[f] for f in measured_kinds(row)), strict=True))


def pooled_spread(rows: Sequence[CellRow]) -> Spread:
    """The distribution over all faults of several runs."""
    return spread_of([one for row in rows for one in recovery_of(row)])


def measured_kinds(row: CellRow) -> list[str]:
    """The kinds of changes that a run asked for, and so has recoveries of."""
    return [f for f in row.rto if f in (row.changes or OF_OLDER_ROWS)]


def change_of(rows: Iterable[CellRow]) -> str:
    """What a change is called in these runs: their only kind, or ``change``."""
    kinds = {f for row in rows for f in measured_kinds(row)}
    return kinds.pop() if len(kinds) == 1 else ANY


def _longest(recoveries: Sequence[Recovery]) -> Recovery:
    if NEVER in recoveries:
        return NEVER
    return max((one for one in recoveries if isinstance(one, float | int)), default=None)
