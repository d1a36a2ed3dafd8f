"""The terminal's last lines of a run: the verdict, why, the checks, the faults, where the page is.

How wide and how coloured they are says a ``TextStyle``; what is said is the same for all. Pure but for reading the
folder.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.verdict import Results
from reports import words
from reports.folder import read_parts
from reports.page.build import report_data
from reports.page.html import REPORT
from reports.page.model import FaultRow, ReportData
from reports.summary.text_style import PIPED, TextStyle, Tone

MAX_FAULTS: Final = 12
"""Faults listed; the summary says of how many."""
_CHECKS: Final = ("check", "verdict", "examined", "found")
_THRESHOLDS: Final = ("threshold", "verdict", "measured")
_FAULTS: Final = ("#", "fault", "from", "to", "RTO", "lost", "evidence")
_LOST: Final = _FAULTS.index("lost")
_EVIDENCE: Final = _FAULTS.index("evidence")
_TONES: Final[dict[str, Tone]] = {words.PASS: "good", words.FAIL: "bad"}


def summary(folder: Path, name: str | None = None, style: TextStyle = PIPED) -> str:
    """The summary of a run folder, judged or not; the report's path is in it if the page is there.

    Args:
        folder: the run folder.
        name: what people call it; None: by its path.
        style: how to write.

    Raises:
        HistoryError: the folder has no ``run.json``, or a file in it cannot be read.
    """
    parts = read_parts(folder, logs=False)
    data = report_data(parts if name is None else msgspec.structs.replace(parts, folder=name))
    report = folder / REPORT
    return "\n".join([*lines(data, style), *([f"report      {_near(report)}"] if report.exists() else [])])


def lines(data: ReportData, style: TextStyle = PIPED) -> list[str]:
    """The summary's lines but for the report's path. Pure."""
    chips = "".join(f"  ({chip})" for chip in data.chips)
    out = ["", *headline(data.stamp.word, f"{data.heading}{chips}", style)]
    out += style.wrap(data.sentence)
    for names, reason in data.why:
        if reason not in data.sentence:
            out += style.wrap(f"{words.UNKNOWN}: {reason}" + (f" ({names})" if names else ""))
    for notice in (*data.notices, *filter(None, [data.engine_note])):
        out += style.wrap(notice)
    if data.thresholds:
        out += ["", *thresholds([(row.text, row.word, row.said) for row in data.thresholds], style)]
    if data.checks:
        out += ["", *checks([(check.name, check.word, check.examined, check.found) for check in data.checks], style)]
    if data.faults:
        out += ["", *_faults(data.faults[:MAX_FAULTS], style)]
        if len(data.faults) > MAX_FAULTS:
            out.append(f"showing {MAX_FAULTS} of {len(data.faults)} faults")
        out += [part for line in data.recovery.lines for part in style.fit(line)]
    if data.service_lines:
        out += [] if data.faults else [""]
        out += [part for line in data.service_lines for part in style.fit(line)]
    out += ["", *(f"{what:<11} {line}" for what, line in data.commands)]
    return out


def tone_of(word: str) -> Tone:
    """The tone of a verdict, or of what stands where there is none."""
    return _TONES.get(word, "warn")


def headline(word: str, text: str, style: TextStyle) -> list[str]:
    """The first line of a summary: the verdict and what it is about."""
    first, *more = style.hang(f"{word}  ", text)
    return [style.paint(word, tone_of(word)) + first[len(word) :], *more]


def checks(rows: list[tuple[str, str, str, str]], style: TextStyle) -> list[str]:
    """The table of the checks: name, verdict, what was examined, and, as it may be long, last what was found."""
    return style.table(
        _CHECKS, rows, elastic=(3, 2), tone=lambda row, column: tone_of(rows[row][1]) if column == 1 else ""
    )


def thresholds(rows: list[tuple[str, str, str]], style: TextStyle) -> list[str]:
    """The table of the thresholds: what was asked, the verdict, and what was measured or why nothing was."""
    return style.table(
        _THRESHOLDS, rows, elastic=(2, 0), tone=lambda row, column: tone_of(rows[row][1]) if column == 1 else ""
    )


def rows_of(path: str, results: Results, style: TextStyle = PIPED) -> str:
    """The answer of some checks alone, which no folder holds: the sentence and a row for each."""
    out = ["", *headline(words.verdict(results.valid), path, style)]
    out += [*style.wrap(results.sentence), *style.wrap(results.engine_note), ""]
    rows = [(row.name, words.verdict(row.valid), row.examined, row.found) for row in results.checks]
    silent = [line for name, why in results.declined.items() for line in style.wrap(f"{name}: not judged, {why}")]
    return "\n".join([*out, *checks(rows, style), *silent])


def _faults(faults: tuple[FaultRow, ...], style: TextStyle) -> list[str]:
    def tone(row: int, column: int) -> Tone:
        if column == _LOST:
            return "bad" if faults[row].lost else ""
        unproven = faults[row].state != "proven" or faults[row].heal not in ("healed", "")
        return "warn" if column == _EVIDENCE and unproven else ""

    return style.table(
        _FAULTS, [_fault(fault) for fault in faults], right=(2, 3, 4, 5), elastic=(_EVIDENCE, 1), tone=tone
    )


def _fault(fault: FaultRow) -> tuple[str, ...]:
    start = "—" if fault.start is None else f"{fault.start:.1f} s"
    end = "—" if fault.end is None else f"{fault.end:.1f} s"
    evidence = fault.evidence if fault.state == "proven" else f"{fault.state}: {fault.evidence}".removesuffix(": ")
    if fault.heal not in ("healed", ""):
        evidence = f"{fault.heal}; {evidence}"
    return (str(fault.id), fault.name, start, end, fault.rto, str(fault.lost), evidence)


def _near(path: Path) -> str:
    """The shorter of the path from here and the absolute one."""
    here = os.path.relpath(path)
    return here if not here.startswith("..") else str(path.absolute())
