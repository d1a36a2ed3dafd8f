"""``summary.md``: the verdict as Markdown, for the summary of a job and a comment on a change. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from chaos.core.errors import ChaosError
from chaos.core.gate import ThresholdResult
from chaos.core.verdict import Results
from reports import words
from reports.folder import Parts
from reports.page.build import report_data
from reports.page.model import FaultRow

FAULTS: Final = 20
"""Faults listed; the table says of how many."""
WORST_FIRST: Final = (words.FAIL, words.BROKE, words.UNKNOWN, words.PASS)
STATES: Final = {"held": words.PASS, "broken": words.FAIL, "unknown": words.UNKNOWN}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, none without rows; a cell holds no bar and no line break."""
    lines = [f"| {' | '.join(' '.join(cell.replace('|', chr(92) + '|').split()) for cell in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines, ""] if lines else []


def thresholds(rows: Iterable[ThresholdResult]) -> list[str]:
    """The table of thresholds, those that do not hold first."""
    order = ("broken", "unknown", "held")
    ordered = sorted(rows, key=lambda row: order.index(row.state))
    cells = ((f"`{row.text}`", STATES[row.state], row.measured or row.reason) for row in ordered)
    return table(("threshold", "verdict", "measured"), cells)


def verdict(name: str, results: Results) -> list[str]:
    """What is told of one history: its verdict, its thresholds, its checks."""
    checks = ((row.name, words.verdict(row.valid), row.found, row.reason) for row in results.checks)
    return [
        f"# {name}: {words.verdict(results.valid)}",
        "",
        _told(results),
        "",
        *thresholds(results.thresholds),
        *table(("check", "verdict", "found", "why unknown"), checks),
    ]


def verdicts(found: Sequence[tuple[str, Results | ChaosError]]) -> str:
    """What is told of several histories: a table of all, the worst first, then each by itself; of one: that alone."""
    lines = []
    for name, one in found:
        lines += [f"# {name}: {words.BROKE}", "", str(one), ""] if isinstance(one, ChaosError) else verdict(name, one)
    rows = sorted((_row(name, one) for name, one in found), key=lambda row: WORST_FIRST.index(row[0]))
    counts = ", ".join(f"{number} {word}" for word in WORST_FIRST if (number := sum(row[0] == word for row in rows)))
    head = [f"# {len(rows)} histories: {counts}", "", *table(("verdict", "history", "what was found"), rows)]
    return "\n".join([*(head if len(rows) > 1 else []), *lines]) + "\n"


def _row(name: str, one: Results | ChaosError) -> tuple[str, str, str]:
    if isinstance(one, ChaosError):
        return words.BROKE, name, str(one)
    return words.verdict(one.valid), name, _told(one)


def _told(results: Results) -> str:
    return results.sentence or results.reason or "Nothing was found."


class MarkdownReporter:
    """The verdict as Markdown."""

    name = "summary"
    help = "the verdict as Markdown: thresholds, checks, faults"
    file = "summary.md"

    def render(self, parts: Parts) -> str:
        """The file's text, also of a run that crashed or was never judged."""
        data = report_data(parts)
        if parts.results is None:
            return f"# {data.heading}: {data.stamp.word}\n\n{data.sentence}\n"
        lines = verdict(data.heading, parts.results)
        lines += table(("fault", "targets", "RTO", "lost", "proof"), map(_fault, data.faults[:FAULTS]))
        lines += [f"showing {FAULTS} of {len(data.faults)} faults", ""] if len(data.faults) > FAULTS else []
        lines += [f"{what}: `{line}`  " for what, line in data.commands]
        return "\n".join(lines) + "\n"


def _fault(row: FaultRow) -> tuple[str, ...]:
    return (f"{row.id} {row.name}", row.targets, row.rto, str(row.lost), f"{row.state} {row.evidence}")
