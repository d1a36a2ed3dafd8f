"""The terminal's last lines of a run: the verdict, why, the checks, the faults, where the page is.

Plain text without colours, so that it reads the same in a log. Pure but for reading the folder.
"""

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.verdict import Results
from reports import words
from reports.folder import read_parts
from reports.model import FaultRow, ReportData
from reports.page.build import report_data
from reports.page.html import REPORT

WIDTH: Final = 110
"""Columns; a command line may be longer, so that it can be copied whole."""
MAX_FAULTS: Final = 12
"""Faults listed; the summary says of how many."""
_EVIDENCE: Final = 46


def summary(folder: Path, name: str | None = None) -> str:
    """The summary of a run folder, judged or not; the report's path is in it if the page is there.

    Args:
        folder: the run folder.
        name: what people call it; None: by its path.

    Raises:
        HistoryError: the folder has no ``run.json``, or a file in it cannot be read.
    """
    parts = read_parts(folder)
    data = report_data(parts if name is None else msgspec.structs.replace(parts, folder=name))
    report = folder / REPORT
    return "\n".join([*lines(data), *([f"report      {_near(report)}"] if report.exists() else [])])


def lines(data: ReportData) -> list[str]:
    """The summary's lines but for the report's path. Pure."""
    out = ["", f"{data.stamp.word}  {data.heading}" + "".join(f"  ({chip})" for chip in data.chips)]
    out += wrapped(data.sentence)
    for names, reason in data.why:
        if reason not in data.sentence:
            out += wrapped(f"{words.UNKNOWN}: {reason}" + (f" ({names})" if names else ""))
    for notice in data.notices:
        out += wrapped(notice)
    if data.checks:
        out += [
            "",
            *table(
                [("check", "verdict", "found", "examined")],
                [(check.name, check.word, cut(check.found, 60), check.examined) for check in data.checks],
            ),
        ]
    if data.faults:
        head = [("#", "fault", "from", "to", "RTO", "lost", "evidence")]
        out += ["", *table(head, [_fault(fault) for fault in data.faults[:MAX_FAULTS]], right=(2, 3, 4, 5))]
        if len(data.faults) > MAX_FAULTS:
            out.append(f"showing {MAX_FAULTS} of {len(data.faults)} faults")
        out += data.recovery.lines
    if data.service_lines:
        out += ["", *data.service_lines] if not data.faults else data.service_lines
    out += ["", *(f"{what:<11} {line}" for what, line in data.commands)]
    return out


def rows_of(path: str, results: Results) -> str:
    """The answer of some checks alone, which no folder holds: the sentence and a row for each."""
    out = ["", f"{words.verdict(results.valid)}  {path}", *wrapped(results.sentence), *wrapped(results.engine_note), ""]
    rows = [(row.name, words.verdict(row.valid), cut(row.found, 60), row.examined) for row in results.checks]
    silent = [line for name, why in results.declined.items() for line in wrapped(f"{name}: not judged, {why}")]
    return "\n".join([*out, *table([("check", "verdict", "found", "examined")], rows), *silent])


def _fault(fault: FaultRow) -> tuple[str, ...]:
    start = "—" if fault.start is None else f"{fault.start:.1f} s"
    end = "—" if fault.end is None else f"{fault.end:.1f} s"
    evidence = fault.evidence if fault.state == "proven" else f"{fault.state}: {fault.evidence}".removesuffix(": ")
    if fault.heal not in ("healed", ""):
        evidence = f"{fault.heal}; {evidence}"
    return (str(fault.id), fault.name, start, end, fault.rto, str(fault.lost), cut(evidence, _EVIDENCE))


def wrapped(text: str) -> list[str]:
    """A text as lines of at most ``WIDTH`` columns."""
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def cut(text: str, width: int) -> str:
    """A text on one line of at most so many columns."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def table(head: Sequence[tuple[str, ...]], rows: Sequence[tuple[str, ...]], right: Sequence[int] = ()) -> list[str]:
    """Columns two blanks apart, as wide as their widest cell."""
    whole = [*head, *rows]
    widths = [max(len(row[i]) for row in whole) for i in range(len(whole[0]))]
    return [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in whole
    ]


def _near(path: Path) -> str:
    """The shorter of the path from here and the absolute one."""
    here = os.path.relpath(path)
    return here if not here.startswith("..") else str(path.absolute())
