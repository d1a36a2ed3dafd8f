"""The few lines of nodes' logs that are the best clue to one occurrence of an anomaly. Pure.

The page also has every line right before and behind the moment; these are for a reader who does not look for more.
"""

import re
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
NEAR_S: Final = 3.0
"""Lines that are further from the occurrence, and from its fault's two ends, are no clue."""
ELSEWHERE: Final = re.compile(r'"queue":\s*(\d+)')
"""How a line tells in JSON which queue it is of."""


class LogClue(msgspec.Struct, frozen=True, kw_only=True):
    """A line: seconds since the load began, its node, what it says, what it is near to, and whether it is a warning."""

    at: float
    node: str
    text: str
    near: str
    notable: bool


def log_clues(
    rows: Sequence[LogRow],
    names: Sequence[str],
    at: float,
    faults: Sequence[Band],
    involved: Sequence[str],
    *,
    every: Sequence[Band] = (),
    key: int | None = None,
) -> tuple[LogClue, ...]:
    """The lines nearest to an occurrence and to the fault that is blamed, in order of time.

    Lines of nodes that have a part in it come first, of these warnings and errors, then what is nearest. A line that
    names another queue is left out.

    Args:
        rows: the lines that the page has.
        names: of the nodes, which the lines give by their place.
        at: when it happened, seconds since the load began.
        faults: those that are blamed.
        involved: nodes that have a part in it.
        every: all faults of the run; a line is told by the nearest of their ends.
        key: the queue that it concerns, if it is one.
    """
    moments = [(at, "it")]
    moments += [(end, f"fault {fault.id} {word}") for fault in faults for end, word in _ends(fault)]
    own = {*involved, *(target for fault in faults for target in fault.targets)}
    edges = [(end, f"fault {fault.id} {word}") for fault in every for end, word in _ends(fault)]

    def far(row: LogRow) -> float:
        return min(abs(row.at - moment) for moment, _ in moments)

    near = [row for row in rows if far(row) <= NEAR_S and not _of_another(row.text, key)]
    ranked = sorted(
        near,
        key=lambda row: (
            names[row.node] not in own,
            not is_notable(row.text),
            far(row),
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
    told = list(dict.fromkeys([*moments, *edges]))
    return tuple(_clue(row, names, told) for row in sorted(kept, key=lambda row: (row.at, row.node)))


def _ends(fault: Band) -> tuple[tuple[float, str], tuple[float, str]]:
    return (fault.start, "begins"), (fault.end, "ends")


def _of_another(text: str, key: int | None) -> bool:
    """Whether a line tells of another queue than that of the occurrence."""
    named = ELSEWHERE.search(text)
    return key is not None and named is not None and int(named[1]) != key


def _clue(row: LogRow, names: Sequence[str], moments: Sequence[tuple[float, str]]) -> LogClue:
    moment, what = min(moments, key=lambda one: abs(row.at - one[0]))
    gap = row.at - moment
    when = "as" if round(gap, 3) == 0 else f"{words.seconds(abs(gap))} {'after' if gap > 0 else 'before'}"
    said = f"{when} {what}" if what != "it" or when != "as" else "at its moment"
    return LogClue(at=row.at, node=names[row.node], text=row.text, near=said, notable=is_notable(row.text))
