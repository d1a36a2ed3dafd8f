"""A comparison on a terminal. Pure."""

from collections.abc import Sequence
from typing import Final

from reports.across.compare import Column, Comparison, Row, Section, value_text
from reports.across.noise import Difference
from reports.summary.terminal import tone_of
from reports.summary.text_style import PIPED, TextStyle, Tone

_RUNS: Final = ("", "RUN", "VERDICT", "BEGAN (UTC)", "SEED", "CHAOS")
_SHORT: Final = {"no clear difference": "≈", "within precision": "≈", "too few": "too few"}


def lines(made: Comparison, style: TextStyle = PIPED) -> list[str]:
    """The comparison's lines."""
    out = [line for sentence in made.sentences for line in style.wrap(sentence)]
    alike = [{run.system for run in made.runs}, {run.workload for run in made.runs}, {run.nemesis for run in made.runs}]
    title = " · ".join(only for (only, *others) in alike if not others)
    out += ["", *([style.shorten(title)] if title else []), *_runs(made.runs, style)]
    letters = tuple(run.letter for run in made.runs)
    if made.settings:
        cells = [(one.name, *one.values) for one in made.settings]
        elastic = (*range(1, 1 + len(letters)), 0)
        out += ["", *style.table(("Settings that differ", *letters), cells, elastic=elastic)]
    for section in made.sections:
        out += ["", *_section(section, letters, style)]
    return out


def _runs(runs: Sequence[Column], style: TextStyle) -> list[str]:
    rows = [
        (
            run.letter,
            run.id,
            word(run),
            run.began[:19].replace("T", " "),
            str(run.seed),
            " ".join(filter(None, (run.chaos_version, run.revision))),
        )
        for run in runs
    ]
    return style.table(
        _RUNS,
        rows,
        elastic=(5, 4, 3, 1),
        tone=lambda row, column: tone_of(word(runs[row])) if column == _RUNS.index("VERDICT") else "",
    )


def word(run: Column) -> str:
    """The verdict of a run, or how far it got."""
    return value_text(run.valid, "verdict") if run.valid is not None else run.status


def _section(section: Section, letters: Sequence[str], style: TextStyle) -> list[str]:
    head = (section.title, *letters, *(("against A",) if any(row.against for row in section.rows) else ()))
    rows = [_cells(row, letters, len(head)) for row in section.rows]

    def tone(row: int, column: int) -> Tone:
        value = section.rows[row]
        if column == 0 or column > len(letters):
            return "warn" if value.differs and value.against else ""
        return tone_of(rows[row][column]) if value.unit == "verdict" and rows[row][column] != "—" else ""

    right = () if section.title == "Checks" else tuple(range(1, 1 + len(letters)))
    return style.table(head, rows, right=right, elastic=(len(head) - 1, 0), tone=tone)


def _cells(row: Row, letters: Sequence[str], width: int) -> tuple[str, ...]:
    cells = (row.name, *(value_text(value, row.unit) for value in row.values))
    return (*cells, note(row.against, letters)) if width > len(cells) else cells


def note(against: Sequence[Difference], letters: Sequence[str]) -> str:
    """How the others stand to the first: of one other with its reason, of several a word each."""
    if len(against) == 1:
        only = against[0]
        return only.why if only.word == "too few" else f"{only.word}, {only.why}"
    return ", ".join(f"{at} {_SHORT.get(one.word, one.word)}" for at, one in zip(letters[1:], against, strict=False))
