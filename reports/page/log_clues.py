"""The few lines of nodes' logs that are the best clue to one occurrence of an anomaly. Pure.

The page also has every line right before and behind the moment; these are for a reader who does not look for more.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from reports import words
from reports.page.logs import LogRow, is_notable, kind_of_line
from reports.page.panels import Band

MOST: Final = 6
"""Lines of an occurrence."""
ALIKE: Final = 2
"""Lines of one node that differ in numbers alone, at most."""
NEAR_S: Final = 10.0
"""Lines that are further from the occurrence, and from its fault's two ends, are no clue."""
STRANGER: Final = 3.0
"""A line of a node that has no part in it counts as if it were so many times as far."""


class LogClue(msgspec.Struct, frozen=True, kw_only=True):
    """A line: seconds since the load began, its node, what it says, what it is near to, and whether it is a warning."""

    at: float
    node: str
    text: str
    near: str
    notable: bool


def log_clues(
    rows: Sequence[LogRow], names: Sequence[str], at: float, faults: Sequence[Band], involved: Sequence[str]
) -> tuple[LogClue, ...]:
    """The lines nearest to an occurrence and to the fault that is blamed, in order of time.

    Warnings and errors are chosen first, then what is nearest.

    Args:
        rows: the lines that the page has.
        names: of the nodes, which the lines give by their place.
        at: when it happened, seconds since the load began.
        faults: those that are blamed.
        involved: nodes that have a part in it.
    """
    moments = [(at, "it")]
    moments += [(fault.start, f"fault {fault.id} begins") for fault in faults]
    moments += [(fault.end, f"fault {fault.id} ends") for fault in faults]
    own = {*involved, *(target for fault in faults for target in fault.targets)}

    def far(row: LogRow) -> float:
        return min(abs(row.at - moment) for moment, _ in moments)

    near = [row for row in rows if far(row) <= NEAR_S]
    ranked = sorted(
        near,
        key=lambda row: (
            not is_notable(row.text),
            far(row) * (1.0 if names[row.node] in own else STRANGER),
            row.at,
            row.node,
        ),
    )
    seen: Counter[tuple[int, str]] = Counter()
    kept: list[LogRow] = []
    for row in ranked:
        kind = (row.node, kind_of_line(row.text))
        seen[kind] += 1
        if seen[kind] <= ALIKE and len(kept) < MOST:
            kept.append(row)
    return tuple(_clue(row, names, moments) for row in sorted(kept, key=lambda row: (row.at, row.node)))


def _clue(row: LogRow, names: Sequence[str], moments: Sequence[tuple[float, str]]) -> LogClue:
    moment, what = min(moments, key=lambda one: abs(row.at - one[0]))
    gap = row.at - moment
    when = "as" if round(gap, 3) == 0 else f"{words.seconds(abs(gap))} {'after' if gap > 0 else 'before'}"
    said = f"{when} {what}" if what != "it" or when != "as" else "at its moment"
    return LogClue(at=row.at, node=names[row.node], text=row.text, near=said, notable=is_notable(row.text))
