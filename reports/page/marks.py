"""Where the occurrences of anomalies are on the time axis: the operation to ring, and what to show around it. Pure."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import Example, Results
from chaos.storage.runinfo import RunInfo
from reports.page.latency_points import Dot
from reports.page.op_words import first_value, op_words, span_of
from reports.page.panels import Band
from reports.page.space_time import Scene

AROUND_S: Final = 1.0
"""Shown before and behind an operation that no fault is near to."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence: when it began, and the stretch that has it and its fault in view.

    ``number``: its place among the examples, from 0. ``dot``: its operation, if it has one.
    """

    name: str
    number: int
    at: float
    start: float
    end: float
    dot: Dot | None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A mark as the page draws it.

    ``point``: the place of its operation, -1 if it has none. ``anchor``: where its anomaly is told, ``example``: where
    it is told itself. ``scene``: who asked whom around it.
    """

    name: str
    weight: str
    anchor: str
    example: str
    scene: Scene | None
    at: float
    start: float
    end: float
    point: int


def marks_of(results: Results | None, run: RunInfo, faults: Sequence[Band]) -> tuple[Mark, ...]:
    """All occurrences of which it is known when they happened, in order of time."""
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
    if timed is not None:
        op, (begin, end) = timed
        dot = _dot(op, begin, end, run, example.key)
    elif example.at_ns is not None:
        begin, end, dot = (example.at_ns - run.origin_ns) / NS_PER_S, None, None
    else:
        return None
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
        dot=dot,
    )


def _dot(op: dict[str, Any], begin: float, end: float | None, run: RunInfo, key: int | None) -> Dot:
    kinds = {kind.word: int(kind) for kind in Type}
    places = {node.name: place for place, node in enumerate(run.nodes)}
    said = first_value(op, "key")
    return Dot(
        t_s=begin,
        latency_ms=-1.0 if end is None else (end - begin) * 1000,
        f=run.words.get(str(op.get("f")), 0),
        type=kinds.get(str(op.get("type")), int(Type.INFO)),
        client=-1 if first_value(op, "client") is None else int(op["client"]),
        node=places.get(str(op.get("node")), -1),
        key=int(said) if said is not None else -1 if key is None else key,
        process=-1 if first_value(op, "process") is None else int(op["process"]),
        error=str(op.get("error") or ""),
        line=op_words({**op, "error": None, "node": None}),
    )
