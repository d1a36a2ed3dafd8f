"""Where the occurrences of anomalies are on the time axis: the operation to ring, and what to show around it. Pure."""

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from chaos.core.op import Type
from chaos.core.runinfo import RunInfo
from chaos.core.verdict import Example, Results
from reports.page.op_words import first, op_words
from reports.page.panels import Band
from reports.page.points import Dot

AROUND_S: Final = 1.0
"""Shown before and behind an operation that no fault is near to."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence: its operation, when it began, and the stretch that has the operation and its fault in view."""

    name: str
    number: int
    at: float
    start: float
    end: float
    dot: Dot


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A mark as the page draws it: ``point`` is the place of its operation, ``anchor`` that of its anomaly."""

    name: str
    weight: str
    anchor: str
    at: float
    start: float
    end: float
    point: int


def span_of(op: dict[str, Any]) -> tuple[float, float | None] | None:
    """When an operation was invoked and completed, in seconds; None if that is not known."""
    start, end = first(op, "invoke_s", "start_s", "scheduled_s"), first(op, "complete_s", "end_s")
    return None if start is None else (float(start), None if end is None or not math.isfinite(end) else float(end))


def marks_of(results: Results | None, run: RunInfo, faults: Sequence[Band]) -> tuple[Mark, ...]:
    """All occurrences that carry an operation with a time, in order of time."""
    if results is None:
        return ()
    found = (
        _mark(name, number, example, run, faults)
        for name, anomaly in results.anomalies.items()
        for number, example in enumerate(anomaly.examples)
    )
    return tuple(sorted((mark for mark in found if mark is not None), key=lambda mark: (mark.at, mark.name)))


def _mark(name: str, number: int, example: Example, run: RunInfo, faults: Sequence[Band]) -> Mark | None:
    timed = next(((op, span) for op in example.ops if (span := span_of(op)) is not None), None)
    if timed is None:
        return None
    op, (begin, end) = timed
    shown = [fault for fault in faults if fault.id == example.fault] or [
        fault for fault in faults if fault.start <= begin < fault.healed
    ]
    stop = begin if end is None else end
    start = min([begin, *(fault.start for fault in shown)])
    last = max([stop, *(fault.healed for fault in shown)])
    margin = max(0.04 * (last - start), 0.0 if shown else AROUND_S)
    return Mark(
        name=name,
        number=number,
        at=round(begin, 4),
        start=round(start - margin, 4),
        end=round(last + margin, 4),
        dot=_dot(op, begin, end, run, example.key),
    )


def _dot(op: dict[str, Any], begin: float, end: float | None, run: RunInfo, key: int | None) -> Dot:
    kinds = {kind.word: int(kind) for kind in Type}
    places = {node.name: place for place, node in enumerate(run.nodes)}
    said = first(op, "key")
    return Dot(
        t_s=begin,
        latency_ms=-1.0 if end is None else (end - begin) * 1000,
        f=run.words.get(str(op.get("f")), 0),
        type=kinds.get(str(op.get("type")), int(Type.INFO)),
        client=-1 if first(op, "client") is None else int(op["client"]),
        node=places.get(str(op.get("node")), -1),
        key=int(said) if said is not None else -1 if key is None else key,
        error=str(op.get("error") or ""),
        line=op_words({**op, "error": None, "node": None}),
    )
