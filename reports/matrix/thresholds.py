"""What became of the thresholds of a matrix' runs: those that do not hold, and how many do. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chaos.core.gate import ThresholdResult
from chaos.core.matrix_results import CellRow
from reports import words
from reports.summary.markdown import STATES

TONES = {"held": "good", "broken": "bad", "unknown": "warn"}


class ThresholdCell(NamedTuple):
    """One threshold of one run that does not hold."""

    run: str
    anchor: str
    text: str
    word: str
    tone: str
    said: str


def unmet_thresholds(rows: Iterable[CellRow], anchor: str = "run-") -> tuple[ThresholdCell, ...]:
    """The thresholds that do not hold, the broken ones first."""
    found = [(row, one) for row in rows for one in row.thresholds if one.state != "held"]
    found.sort(key=lambda pair: pair[1].state != "broken")
    return tuple(
        ThresholdCell(
            row.id, f"{anchor}{row.id}", one.text, STATES[one.state], TONES[one.state], one.measured or one.reason
        )
        for row, one in found
    )


def held_count_text(rows: Sequence[CellRow]) -> str:
    """``11 of 12 thresholds held, 1 broken``; empty if there are none."""
    every: list[ThresholdResult] = [one for row in rows for one in row.thresholds]
    if not every:
        return ""
    counts = {state: sum(one.state == state for one in every) for state in ("held", "broken", "unknown")}
    names = {"broken": "broken", "unknown": "not measured"}
    rest = "".join(f", {counts[state]} {name}" for state, name in names.items() if counts[state])
    return f"{counts['held']} of {words.plural(len(every), 'threshold')} held{rest}"
