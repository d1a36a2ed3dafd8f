"""Each object of a history with its operations by process, so that what surrounds an error can be seen. Pure.

A history of one object has one timeline. A transaction, or a poll of several logs, is on the timeline of every object
that it touches, with what it did there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.core.verdict import Results
from chaos.formats.operations import NEVER, Operation
from reports import words
from reports.imported.bars import Bar, argument_and_answer, bar_of, text_of
from reports.imported.lanes import Lanes, lanes_of

OBJECTS: Final = 24
"""Objects that are drawn: those of errors first."""
DRAWN: Final = 60
"""Operations that are drawn of an object: around its first error, or the first ones."""
BEFORE: Final = 20
"""So many of them are before the first error."""
STEPS: Final = frozenset({":r", ":w", ":append", ":send", ":poll", "r", "w", "append", "send", "poll"})
_STEP: Final = 2
"""A step of a transaction has a word and a key at least."""


class ObjectPart(msgspec.Struct, frozen=True, kw_only=True):
    """One object. ``errors``: its operations that an anomaly is about. ``shown``: which of many are drawn."""

    name: str
    anchor: str
    count: str
    errors: int
    shown: str
    lanes: Lanes | None


class Objects(msgspec.Struct, frozen=True, kw_only=True):
    """The objects that are drawn, and what is said of the others, or why none is."""

    parts: tuple[ObjectPart, ...] = ()
    said: str = ""


def objects_of(operations: Sequence[Operation], results: Results) -> Objects:
    """The timelines of the objects of a history."""
    found: dict[str, list[tuple[Operation, str]]] = {}
    for operation in operations:
        for name, label in _objects_touched(operation):
            found.setdefault(name, []).append((operation, label))
    bad = _guilty_operations(results)
    hits = {name: [_id(operation) in bad for operation, _ in own] for name, own in found.items()}
    ordered = sorted(found, key=lambda name: (not any(hits[name]), not name.isdecimal(), len(name), name))
    parts = tuple(_part(place, name, found[name], hits[name]) for place, name in enumerate(ordered[:OBJECTS]))
    left = len(ordered) - len(parts)
    return Objects(parts=parts, said=f"{words.plural(left, 'other object')} not drawn." if left > 0 else "")


def _part(place: int, name: str, own: Sequence[tuple[Operation, str]], hit: Sequence[bool]) -> ObjectPart:
    first = hit.index(True) if any(hit) else 0
    begin = max(0, min(first - BEFORE, len(own) - DRAWN))
    bars = [_bar(operation, label, guilty=bad) for (operation, label), bad in zip(own, hit, strict=True)]
    where = "around the first error" if any(hit) else "from the beginning"
    shown = f"showing {DRAWN} of {words.count(len(own))}, {where}" if len(own) > DRAWN else ""
    return ObjectPart(
        name=name,
        anchor=f"object-{place + 1}",
        count=words.plural(len(own), "operation"),
        errors=sum(hit),
        shown=shown,
        lanes=lanes_of(bars[begin : begin + DRAWN]),
    )


def _id(operation: Operation) -> tuple[int, str]:
    return operation.invoke, text_of(operation.process)


def _guilty_operations(results: Results) -> set[tuple[int, str]]:
    """Which operations the examples of errors are about: when they were invoked, and by whom."""
    rows: Iterable[Mapping[str, Any]] = (
        row
        for anomaly in results.anomalies.values()
        if not anomaly.allowed
        for example in anomaly.examples
        for row in example.ops
    )
    out = set()
    for row in rows:
        at = row.get("invoke", row.get("index") if row.get("type") == "invoke" else None)
        if at is not None:
            out.add((int(at), text_of(row.get("process"))))
    return out


def _objects_touched(operation: Operation) -> Iterator[tuple[str, str]]:
    """The objects that an operation is about, each with what it did there."""
    steps = _steps(operation.output) or _steps(operation.argument)
    if not steps:
        name = "" if operation.key is None else text_of(operation.key)
        row = {
            "f": operation.f,
            "type": operation.type.word,
            "argument": operation.argument,
            "output": operation.output,
        }
        yield name, f"{operation.f} {argument_and_answer({**row, **operation.extra})}".strip()
        return
    by_object: dict[str, list[str]] = {}
    for step in steps:
        word = str(step[0]).removeprefix(":")
        if isinstance(step[1], Mapping):
            for key, records in step[1].items():
                by_object.setdefault(text_of(key), []).append(f"{word} {text_of(records)}")
        else:
            by_object.setdefault(text_of(step[1]), []).append(" ".join([word, *map(text_of, step[2:])]))
    for name, did in by_object.items():
        yield name, "; ".join(did)


def _steps(value: Any) -> Sequence[Sequence[Any]]:
    """The steps of a transaction; none if it is none."""
    if not isinstance(value, list | tuple) or not value:
        return ()
    whole = all(isinstance(one, list | tuple) and len(one) >= _STEP and str(one[0]) in STEPS for one in value)
    return value if whole else ()


def _bar(operation: Operation, label: str, *, guilty: bool) -> Bar:
    end = None if operation.complete == NEVER else float(operation.complete)
    word = operation.type.word
    return bar_of(label, operation.number, operation.process, word, float(operation.invoke), end, guilty=guilty)
