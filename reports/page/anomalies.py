"""The anomalies as shown: each kind with its examples, and what is known of each occurrence.

Pure. Does not judge: what was found comes from ``results.json``.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from chaos.basics.name_lists import join_names
from chaos.core.verdict import Anomaly, Example, Headline, Results
from checkers.anomalies.catalogue import kind_of
from checkers.anomalies.findings import validity
from reports import words
from reports.page.columns import FACTS, Columns
from reports.page.log_clues import LogClue, log_clues
from reports.page.logs import LogRow
from reports.page.marks import Mark
from reports.page.model import AnomalyView, ExampleView
from reports.page.op_words import op_words
from reports.page.panels import Band, Change
from reports.page.ring import ring_of
from reports.page.trace import blamed_faults, trace

DAMAGED: Final = "corrupt"
"""The anomaly of a record whose body is not one of ours or fails its checksum."""

WEIGHTS: Final = ("error", "undecided", "allowed")


class _Surroundings(NamedTuple):
    """What the page knows beside an occurrence; the fields are the arguments of ``anomaly_views``."""

    results: Results
    shaded: Sequence[Band]
    changes: Sequence[Change]
    reasons: Mapping[str, str]
    key: str
    marks: Mapping[tuple[str, int], tuple[int, Mark]]
    folder: str
    lines: Sequence[LogRow]
    nodes: Sequence[str]


def anomaly_views(
    results: Results,
    shaded: Sequence[Band],
    changes: Sequence[Change],
    reasons: Mapping[str, str],
    key: str = "queue",
    marks: Sequence[Mark] = (),
    *,
    folder: str = "",
    lines: Sequence[LogRow] = (),
    nodes: Sequence[str] = (),
) -> tuple[AnomalyView, ...]:
    """Errors first, each with the kinds of the same cause under it.

    ``reasons``: why one is allowed. ``key``: what a key names. ``marks``: where occurrences are on the time axis.
    ``folder``: of the run, for commands. ``lines``: of nodes' logs, which give ``nodes`` by their place.
    """
    placed = {(mark.name, mark.number): (at, mark) for at, mark in enumerate(marks)}
    beside = _Surroundings(results, shaded, changes, reasons, key, placed, folder, lines, nodes)
    found = results.anomalies
    heads = {name: _headline(name, found) for name in found}
    ordered = sorted(
        (name for name in found if heads[name] == name), key=lambda name: WEIGHTS.index(weight_of(name, found[name]))
    )
    under = {head: [name for name in found if heads[name] == head and name != head] for head in ordered}
    return tuple(_view(head, beside, tuple(_view(name, beside) for name in under[head])) for head in ordered)


def _view(name: str, beside: _Surroundings, parts: tuple[AnomalyView, ...] = ()) -> AnomalyView:
    """One kind of anomaly. ``parts``: the kinds of the same cause."""
    anomaly = beside.results.anomalies[name]
    kind = kind_of(name)
    return AnomalyView(
        name=name,
        anchor=anchor_of(name),
        meaning=kind.meaning,
        expected=kind.expected,
        rule=words.rule(kind.rule),
        count=anomaly.count,
        weight=weight_of(name, anomaly),
        why_allowed=beside.reasons.get(name, "") if anomaly.allowed else "",
        spread=anomaly.spread,
        examples=tuple(_example_view(name, number, beside) for number in range(len(anomaly.examples))),
        parts=parts,
    )


def _example_view(name: str, number: int, beside: _Surroundings) -> ExampleView:
    """The example of that number, from 0, of an anomaly."""
    anomaly = beside.results.anomalies[name]
    example = anomaly.examples[number]
    columns, rows = _table_of(example.ops)
    place, mark = beside.marks.get((name, number), (None, None))
    about = _about(example)
    return ExampleView(
        anchor=anchor_of(name, number),
        name=name,
        number=number + 1,
        sentence=example.sentence,
        command=_show(beside.folder, name, number, example),
        facts=facts_of(
            example,
            beside.key,
            _told_of(name, number, beside.results),
            promise=_promise(example, made=name in beside.reasons, allowed=anomaly.allowed),
            record=_record(example) if name == DAMAGED else "",
        ),
        about=about,
        ring=ring_of(example.circle, _labels(example)),
        edges=tuple((edge.kind, edge.reason) for edge in example.circle),
        unplaced=op_words(example.ops[0]) if example.order else "",
        order=_ordered(example),
        trace=trace(example, beside.shaded, beside.changes),
        mark=place,
        log_clues=_log_clues_at(mark, example, about["node"], beside) if mark is not None else (),
        columns=columns,
        rows=rows,
    )


def _table_of(ops: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Heads and rows of the table of operations: the columns in which any of them has a value."""
    columns = tuple(dict.fromkeys(key for op in ops for key, value in op.items() if value is not None))
    return columns, tuple(tuple(words.cell_text(op.get(key)) for key in columns) for op in ops)


def _log_clues_at(mark: Mark, example: Example, nodes: Sequence[str], beside: _Surroundings) -> tuple[LogClue, ...]:
    """What nodes logged around an occurrence in which ``nodes`` have a part."""
    return log_clues(
        beside.lines,
        beside.nodes,
        mark.at,
        blamed_faults(example, beside.shaded),
        nodes,
        every=beside.shaded,
        key=example.key,
    )


def _labels(example: Example) -> dict[int, str]:
    """What the operations of a circle are called in its boxes."""
    return {op["op"]: f"{op['op']}: {op_words(op)}" for op in example.ops} if example.circle else {}


def _ordered(example: Example) -> tuple[str, ...]:
    """The operations of an order that explains all but the first, in words."""
    own = {op["op"]: op_words(op) for op in example.ops} if example.order else {}
    return tuple(own[number] for number in example.order if number in own)


def anchor_of(name: str, number: int | None = None) -> str:
    """Where on the page an anomaly is told, or its example of that number from 0."""
    return f"anomaly-{name}" if number is None else f"example-{name}-{number + 1}"


def _show(folder: str, name: str, number: int, example: Example) -> str:
    """The command that prints the history around an occurrence; empty where it would not know what to look for."""
    if example.value is None and example.offset is None and example.at_ns is None:
        return ""
    return shlex.join(["chaos", "show", folder, "--around", f"{name}/{number + 1}", "--context", "20"])


def _told_of(name: str, number: int, results: Results) -> Headline | None:
    """What the headline blames, if it is this example that stands beside it at the top of the page."""
    told = results.headline
    return told if told is not None and (told.anomaly, 0) == (name, number) else None


def _promise(example: Example, *, made: bool, allowed: bool) -> str:
    """What the system's promises say of an occurrence that one of them can cover; empty where none can.

    ``made``: the system makes the promise. ``allowed``: it covers every occurrence of the kind.
    """
    if not example.excused:
        return ""
    if not made:
        return "none of this system allows it"
    return "covers it" if allowed else "covers it, but not every one of its kind"


def _record(example: Example) -> str:
    """Which of the two a record is that does not prove itself, as far as the history tells them apart."""
    if example.value is None:
        return "damaged or foreign: nothing of ours is known to have stood here"
    return f"probably {example.value}, damaged: that was acknowledged here"


def facts_of(
    example: Example, key: str, told: Headline | None = None, *, promise: str = "", record: str = ""
) -> tuple[tuple[str, str], ...]:
    """What an occurrence is about, as far as it is known.

    ``promise``: what the system's promises say of it. ``record``: what a record probably is that does not prove itself.
    ``told``: what the headline blames, where it is about this occurrence. It knows the whole run and may blame another
    node and another fault than the occurrence alone would. Then it says whom to look at and which fault came before
    it, everywhere on the page alike, and ``seen at`` has the node that the occurrence itself is of.
    """
    named_place = key == "place"  # the fact is called so already
    queue = "" if example.key is None else f"{'' if named_place else f'{key} '}{example.key}"
    offset = "" if example.offset is None else f"offset {example.offset}"
    if example.last_offset is not None and example.last_offset != example.offset:
        offset = f"offsets {example.offset} and {example.last_offset}"
    elsewhere = told is not None and told.nodes not in ((), (example.node,))
    fault = example.fault if told is None or told.fault is None else told.fault
    named = (
        ("node", "" if elsewhere else example.node or ""),
        ("message", example.value or ""),
        ("place", ", ".join(filter(None, (queue, offset)))),
        ("look at", join_names(told.nodes) if told is not None and elsewhere else ""),
        ("seen at", example.node or "" if elsewhere else ""),
        ("fault", "" if fault is None else str(fault)),
        ("record", record),
        ("promise", promise),
        ("should be", example.expected),
    )
    return tuple((name, value) for name, value in named if value)


def fact_columns(views: Sequence[AnomalyView]) -> Columns:
    """What the facts mean that these examples show."""
    told = {name for view in views for part in (view, *view.parts) for one in part.examples for name, _ in one.facts}
    return tuple(row for row in FACTS if row[0] in told)


def _about(example: Example) -> dict[str, list[str]]:
    """What an occurrence can be found by: nodes, objects, processes, errors, faults."""
    named: dict[str, list[Any]] = {
        "node": [example.node, *(op.get("node") for op in example.ops)],
        "key": [example.key, *(op.get("key") for op in example.ops)],
        "process": [op.get("process") for op in example.ops],
        "error": [op.get("error") for op in example.ops],
        "fault": [example.fault],
    }
    return {name: sorted({str(one) for one in said if one not in (None, "")}) for name, said in named.items()}


def weight_of(name: str, anomaly: Anomaly) -> str:
    """What the anomaly does to the verdict, in the checks' own words."""
    valid = validity({name: anomaly})
    return "allowed" if valid is True else "error" if valid is False else "undecided"


def _headline(name: str, found: Mapping[str, Anomaly]) -> str:
    """The anomaly under which this one is shown: the end of its ``part_of`` chain, itself if that is a ring."""
    seen, at = {name}, name
    while (above := found[at].part_of) is not None and above in found:
        if above in seen:
            return name
        seen.add(above)
        at = above
    return at
