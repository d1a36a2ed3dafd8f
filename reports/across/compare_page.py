"""A comparison as a page that needs nothing else. Pure but for reading the package's own template and style."""

from collections.abc import Sequence

import msgspec

from reports import words
from reports.across.compare import Column, Comparison, Distribution, Row, Section, value_text
from reports.across.compare_text import note, word
from reports.across.figures import BLOCK_S
from reports.page.html import template
from reports.page.spread import SpreadRow, spread_of, spread_row
from reports.summary.terminal import tone_of


class RunCell(msgspec.Struct, frozen=True, kw_only=True):
    """A run at the top of the page; ``link``: its own page, empty if there is none."""

    run: Column
    word: str
    tone: str
    link: str


class Cell(msgspec.Struct, frozen=True):
    """A value in words, and its tone."""

    text: str
    tone: str


class RowView(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table."""

    name: str
    cells: tuple[Cell, ...]
    note: str
    clear: bool
    number: bool


class SectionView(msgspec.Struct, frozen=True, kw_only=True):
    """A table."""

    title: str
    rows: tuple[RowView, ...]
    noted: bool


class CompareView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page shows."""

    title: str
    made: Comparison
    runs: tuple[RunCell, ...]
    letters: tuple[str, ...]
    sections: tuple[SectionView, ...]
    recoveries: tuple[SpreadRow, ...]
    recovery_scale: str
    latencies: tuple[SpreadRow, ...]
    latency_scale: str
    block: str


def page(made: Comparison, links: Sequence[str]) -> str:
    """The page's text; ``links``: where each run's page is from here, empty if there is none."""
    text, css = template("compare.html.j2")
    return text.render(d=view(made, links), css=css)


def view(made: Comparison, links: Sequence[str]) -> CompareView:
    """What the page shows."""
    letters = tuple(run.letter for run in made.runs)
    recoveries, recovery_scale = _strips(made.recoveries, letters, at_least_s=1.0)
    latencies, latency_scale = _strips(made.latencies, letters, at_least_s=0.001)
    return CompareView(
        title=" · ".join(f"{run.letter} {word(run)}" for run in made.runs),
        made=made,
        runs=tuple(
            RunCell(run=run, word=word(run), tone=tone_of(word(run)), link=link)
            for run, link in zip(made.runs, links, strict=True)
        ),
        letters=letters,
        sections=tuple(_section(one, letters) for one in made.sections),
        recoveries=recoveries,
        recovery_scale=recovery_scale,
        latencies=latencies,
        latency_scale=latency_scale,
        block=words.duration(BLOCK_S),
    )


def _section(section: Section, letters: Sequence[str]) -> SectionView:
    rows = tuple(_row(row, letters) for row in section.rows)
    return SectionView(title=section.title, rows=rows, noted=any(row.note for row in rows))


def _row(row: Row, letters: Sequence[str]) -> RowView:
    texts = [value_text(value, row.unit) for value in row.values]
    verdicts = row.unit == "verdict"
    return RowView(
        name=row.name,
        cells=tuple(Cell(text, tone_of(text) if verdicts and text != "—" else "") for text in texts),
        note=note(row.against, letters),
        clear=row.differs,
        number=not verdicts,
    )


def _strips(
    own: Sequence[Distribution], letters: Sequence[str], *, at_least_s: float
) -> tuple[tuple[SpreadRow, ...], str]:
    """A strip for each run under each other, on one scale that ends at the longest."""
    spreads = [(one, [spread_of(values) for values in one.values]) for one in own]
    scale_s = max([at_least_s, *(spread.longest or 0.0 for _, group in spreads for spread in group)])
    rows = tuple(
        spread_row(f"{at} {one.of}", one.colour, one.f, spread, scale_s)
        for one, group in spreads
        for at, spread in zip(letters, group, strict=True)
        if spread.faults  # of a run without such a fault a row says nothing
    )
    return rows, words.seconds(scale_s)
