"""What the page of a history says, from its verdict alone. Pure."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

import msgspec

from chaos.core.verdict import Anomaly, Example, Results
from checkers.anomalies.catalogue import kind_of
from reports import words
from reports.imported.bars import Bar, bars_of, in_order
from reports.imported.lanes import Lanes, lanes_of
from reports.imported.objects import Objects
from reports.page.anomalies import anchor_of
from reports.page.model import Stamp, Table
from reports.page.ring import Ring, ring_of
from reports.page.verdict import stamp_of
from reports.summary.imported import KINDS, kind_cells, lines_beside


class ExamplePart(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence. ``order``: the operations that have an order, in words. ``table``: the rows as recorded."""

    sentence: str
    lanes: Lanes | None
    guilty: str
    order: tuple[str, ...]
    ring: Ring | None
    edges: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class AnomalyPart(msgspec.Struct, frozen=True, kw_only=True):
    """All occurrences of a kind. ``tone``: bad for an error, plain for one that is allowed."""

    name: str
    anchor: str
    count: str
    tone: str
    meaning: str
    expected: str
    rule: str
    examples: tuple[ExamplePart, ...]
    shown: str


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of a history of another tool. ``anchor``: of the anomaly that the sentence tells of, if it does."""

    title: str
    stamp: Stamp
    heading: str
    sentence: str
    anchor: str
    reason: str
    facts: tuple[str, ...]
    anomalies: tuple[AnomalyPart, ...]
    objects: Objects
    kinds: Table | None
    lines: tuple[str, ...]
    command: str


def history_page(path: str, results: Results, command: str, objects: Objects) -> HistoryPage:
    """The page.

    Args:
        path: of the history, as it was given.
        results: its verdict.
        command: what judges it again.
        objects: the timelines of its objects.
    """
    stamp, name = stamp_of(results, broke=False), PurePath(path).name
    examined = results.checks[0].examined if results.checks else ""
    ordered = sorted(results.anomalies.items(), key=lambda pair: (pair[1].allowed, -kind_of(pair[0]).strength))
    return HistoryPage(
        title=f"{stamp.word} · {name}",
        stamp=stamp,
        heading=name,
        sentence=results.sentence or _clean(results, examined),
        anchor=_told_at(results),
        reason=results.reason,
        facts=tuple(filter(None, (f"model {results.model}", examined, _engine(results), path))),
        anomalies=tuple(_anomaly(name, one) for name, one in ordered),
        objects=objects,
        kinds=Table(title="Operations", columns=KINDS, rows=tuple(kind_cells(one) for one in results.kinds))
        if results.kinds
        else None,
        lines=tuple(lines_beside(results)),
        command=command,
    )


def _told_at(results: Results) -> str:
    """The anchor of the anomaly whose sentence is the verdict's."""
    for name, one in results.anomalies.items():
        if results.sentence and any(example.sentence in results.sentence for example in one.examples):
            return anchor_of(name)
    return ""


def _engine(results: Results) -> str:
    return results.engine_note or f"engine {results.engine}"


def _clean(results: Results, examined: str) -> str:
    if results.valid is True:
        return f"Nothing in {examined} contradicts the model {results.model}."
    return f"What there is in {examined} decides nothing."


def _anomaly(name: str, found: Anomaly) -> AnomalyPart:
    kind = kind_of(name)
    more = found.count - len(found.examples)
    return AnomalyPart(
        name=name,
        anchor=anchor_of(name),
        count=words.count(found.count),
        tone="" if found.allowed else "bad",
        meaning=kind.meaning,
        expected=kind.expected,
        rule=words.rule(kind.rule),
        examples=tuple(map(_example, found.examples)),
        shown=f"showing {len(found.examples)} of {words.count(found.count)}" if more > 0 else "",
    )


def _example(example: Example) -> ExamplePart:
    bars = bars_of(example)
    columns = tuple(dict.fromkeys(key for row in example.ops for key, value in row.items() if value is not None))
    guilty = next((bar for bar in bars if bar.guilty), None)
    return ExamplePart(
        sentence=example.sentence,
        lanes=lanes_of(bars),
        guilty="" if guilty is None else _named(guilty),
        order=tuple(map(_named, in_order(bars))),
        ring=ring_of(example.circle, _labels(bars)),
        edges=tuple((edge.kind, edge.reason) for edge in example.circle),
        columns=columns,
        rows=tuple(tuple(words.cell_text(row.get(key)) for key in columns) for row in example.ops),
    )


def _named(bar: Bar) -> str:
    return f"{bar.text} ({bar.number})"


def _labels(bars: Sequence[Bar]) -> Mapping[int, str]:
    return {bar.number: f"{bar.number}: {bar.text}" for bar in bars}
