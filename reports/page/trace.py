"""The picture of one anomaly: its operations as bars, a lane per process, on a time axis with cuts.

A lost message is sent within milliseconds and missed minutes later, so long stretches in which no shown operation
begins or ends are cut out of the axis, visibly. Pure geometry in pixels of a fixed width; it draws the operations that
the example carries.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from chaos.core.verdict import Example
from reports import words
from reports.page.op_words import covered_offsets, first_value, listed_records, op_words, span_of
from reports.page.panels import Band, Change

WIDTH: Final = 1090
LEFT: Final = 92
RIGHT: Final = 16
HEARD: Final = "as the observer heard it"
MAX_OPS: Final = 40
"""Operations drawn of one example; the page says of how many."""
_CUT_PX: Final = 54
_ROW_PX: Final = 28
_BAR_PX: Final = 20
_LABEL_ROW_PX: Final = 15
_CHAR_PX: Final = 6.3
BOLD: Final = 1.17
"""How much wider bold text is."""
_MIN_BAR_PX: Final = 7
_MAX_CUTS: Final = 4
_LABEL_PX: Final = 62
_STEPS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)


_Timed = tuple[dict[str, Any], tuple[float, float | None], bool]
"""An operation, when it was invoked and completed, and whether the sentence is about it."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. ``open``: it never completed. ``title`` is all that is known of it."""

    x: float
    y: float
    width: float
    outcome: str
    guilty: bool
    open: bool
    label: str
    label_x: float
    anchor: str
    title: str


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A vertical line with words: a fault's edge or a change of leader. ``label_y``: their baseline."""

    x: float
    label: str
    label_x: float
    label_y: float
    anchor: str
    fault: bool


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time that is left out; ``title`` says what happened in it."""

    x: float
    width: float
    label: str
    title: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the same in words: an operation, with its outcome as ``tone``, or a moment.

    ``took``: whose it was and how long it took; of a change of leader, whose word it is. ``number``: its place among
    the operations, from 1; 0 of a moment. ``end``: when it ended; None of a moment, and where there was no answer.
    """

    at: float
    tone: str
    guilty: bool
    words: str
    took: str = ""
    number: int = 0
    end: float | None = None


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One picture. ``bands``: (x, width, colour); ``lanes``: (baseline, words); ``ticks``: (x, seconds, words).

    ``start`` to ``end`` is all of it in seconds.
    """

    height: float
    top: float
    bottom: float
    bars: tuple[Bar, ...]
    bands: tuple[tuple[float, float, str], ...]
    lanes: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, float, str], ...]
    cuts: tuple[Cut, ...]
    steps: tuple[Step, ...]
    shown: int
    of: int
    start: float
    end: float


class Axis:
    """Seconds to pixels, piecewise linear: the stretches between cuts share one scale.

    Args:
        spans: when each operation was invoked and completed, None if it never was.
    """

    def __init__(self, spans: Sequence[tuple[float, float | None]]) -> None:
        points = sorted({time for span in spans for time in span if time is not None})
        span = points[-1] - points[0]
        ended = [(start, end) for start, end in spans if end is not None]
        # A gap in the middle of an operation is part of that operation: it is shown.
        gaps = [(b - a, a, b) for a, b in pairwise(points) if not any(s <= a and b <= e for s, e in ended)]
        self.cuts = _cuts(gaps, span)
        kept = span - sum(b - a for a, b in self.cuts)
        pad = max(0.04 * kept, 0.0005)
        self.start, self.end = points[0] - pad, points[-1] + pad
        edges = [self.start, *(edge for cut in self.cuts for edge in cut), self.end]
        self.pieces = list(zip(edges[::2], edges[1::2], strict=True))
        room = WIDTH - LEFT - RIGHT - _CUT_PX * len(self.cuts)
        self.scale = room / sum(b - a for a, b in self.pieces)

    def shows(self, time: float) -> bool:
        """Whether a time lies in the window and in no cut."""
        return self.start <= time <= self.end and not any(a < time < b for a, b in self.cuts)

    def x(self, time: float) -> float:
        """Pixels of a time, clipped to the window; inside a cut proportionally."""
        x = float(LEFT)
        for i, (start, end) in enumerate(self.pieces):
            if time <= end:
                return round(x + max(0.0, time - start) * self.scale, 1)
            x += (end - start) * self.scale
            if i + 1 < len(self.pieces):
                following = self.pieces[i + 1][0]
                if time < following:
                    return round(x + _CUT_PX * (time - end) / (following - end), 1)
                x += _CUT_PX
        return round(x, 1)


def _cuts(gaps: Sequence[tuple[float, float, float]], span: float) -> list[tuple[float, float]]:
    """The gaps that dwarf all that would be left without them, but for a margin beside their ends."""
    cuts: list[tuple[float, float]] = []
    left = span
    for length, start, end in sorted(gaps, reverse=True)[:_MAX_CUTS]:
        rest = left - length
        if rest <= 0 or length < 1.5 * rest:
            break
        left = rest
        margin = min(0.1 * length, 0.08 * rest)
        cuts.append((start + margin, end - margin))
    return sorted(cuts)


def guilty_of(op: dict[str, Any], position: int, example: Example) -> bool:
    """Whether the operation is one that the sentence is about."""
    if "guilty" in op:
        return bool(op["guilty"])
    if position == 0 or (example.value is not None and op.get("value") == example.value):
        return True
    start, stop = covered_offsets(op)
    if op.get("type") != "ok":
        return example.offset is not None and example.offset in listed_records(op)
    if example.offset is None or start is None or stop is None:
        return False
    return start <= example.offset < stop


def timed_of(example: Example) -> list[_Timed]:
    """The operations of which it is known when they were, each once.

    A read that is shown at several offsets has a row for each of them; here it has the records of all.
    """
    found: dict[Any, dict[str, Any]] = {}
    for place, op in enumerate(example.ops):
        told = tuple(op.get(name) for name in ("f", "process", "client", "invoke_s", "complete_s"))
        one = found.setdefault(told if op.get("records") and op.get("process") is not None else place, dict(op))
        one["records"] = list(dict.fromkeys([*(one.get("records") or ()), *(op.get("records") or ())]))
    return [
        (op, span, guilty_of(op, place, example))
        for place, op in enumerate(found.values())
        if (span := span_of(op)) is not None
    ]


def blamed_faults(example: Example, faults: Sequence[Band]) -> list[Band]:
    """The fault that the sentence names, if one is."""
    return [band for band in faults if band.id == example.fault]


def trace(example: Example, faults: Sequence[Band], changes: Sequence[Change]) -> Trace | None:
    """Lay out one example, with the beginning of the fault that is blamed; None if no operation has a time."""
    timed = timed_of(example)
    drawn = timed[:MAX_OPS]
    if not drawn:
        return None
    axis = Axis(
        [*(span for _, span, _ in drawn), *((band.start, band.start) for band in blamed_faults(example, faults))]
    )
    marks, top = _marks(axis, faults, changes)
    bars, lanes, bottom = _bars(axis, sorted(drawn, key=lambda row: row[1][0]), top, example)
    shaded = [
        (axis.x(max(band.start, start)), axis.x(min(band.end, end)), band.colour)
        for band in faults
        for start, end in axis.pieces
        if band.start < end and band.end > start
    ]
    return Trace(
        height=bottom + 26,
        top=top,
        bottom=bottom,
        bars=tuple(bars),
        lanes=tuple(lanes),
        marks=tuple(marks),
        bands=tuple((x0, round(max(1.0, x1 - x0), 1), colour) for x0, x1, colour in shaded),
        ticks=tuple(_ticks(axis)),
        cuts=tuple(_cut(axis, a, b, faults, changes) for a, b in axis.cuts),
        steps=tuple(_steps(axis, drawn, faults, changes, example)),
        shown=len(drawn),
        of=len(timed),
        start=round(axis.start, 4),
        end=round(axis.end, 4),
    )


def _steps(
    axis: Axis, drawn: Sequence[_Timed], faults: Sequence[Band], changes: Sequence[Change], example: Example
) -> list[Step]:
    """The operations and what happened between them, in order of time: for where the picture has no room."""
    steps = [
        Step(
            at=round(start, 4),
            tone=str(op.get("type", "info")),
            guilty=guilty,
            words=op_words(op, example.offset, example.value),
            took=", ".join(
                filter(None, (_who(op), "no answer" if end is None else f"took {words.seconds(end - start)}"))
            ),
            number=number,
            end=None if end is None else round(end, 4),
        )
        for number, (op, (start, end), guilty) in enumerate(sorted(drawn, key=lambda row: row[1][0]), 1)
    ]
    steps += [
        Step(at=time, tone="moment", guilty=False, words=label, took="" if fault else HEARD)
        for time, label, fault in _moments(faults, changes)
        if axis.start <= time <= axis.end
    ]
    steps += [end for step in steps if (end := _end_of(step, steps)) is not None]
    return sorted(steps, key=lambda step: step.at)


def _end_of(step: Step, steps: Sequence[Step]) -> Step | None:
    """The end of an operation as a step of its own, where others begin while it is under way; else None.

    Its answer is known only then, however early it stands in the list.
    """
    if step.end is None or not any(step.at < other.at < step.end for other in steps):
        return None
    return Step(at=step.end, tone="moment", guilty=False, words=f"{step.number} ends: {step.words}")


def _who(op: dict[str, Any]) -> str:
    process = first_value(op, "process", "client")
    return "" if process is None else f"process {process}"


def _moments(faults: Sequence[Band], changes: Sequence[Change]) -> list[tuple[float, str, bool]]:
    """(time, words, whether it is a fault's) of all that may explain an anomaly, in order."""
    begun = [(band.start, f"fault {band.id}: {band.name}", True) for band in faults]
    ended = [(band.end, f"fault {band.id} ends", True) for band in faults]
    return sorted([*begun, *ended, *((change.time, change.words, False) for change in changes)])


def _cut(axis: Axis, start: float, end: float, faults: Sequence[Band], changes: Sequence[Change]) -> Cut:
    """A cut with what happened in it."""
    within = [f"{label} at {words.moment(time)}" for time, label, _ in _moments(faults, changes) if start < time < end]
    title = f"{words.seconds(end - start)} in which no shown operation begins or ends"
    return Cut(
        x=axis.x(start),
        width=_CUT_PX,
        label=f"{words.seconds(end - start)} left out",
        title="\n".join([title, *within]),
    )


def _marks(axis: Axis, faults: Sequence[Band], changes: Sequence[Change]) -> tuple[list[Mark], float]:
    """Vertical lines with labels in as many rows as keep them apart; returns where the lanes begin."""
    wanted = [moment for moment in _moments(faults, changes) if axis.shows(moment[0])]
    wanted += [
        (axis.start, f"in fault {band.id}: {band.name}", True) for band in faults if band.start < axis.start < band.end
    ]
    rows: list[list[tuple[float, float]]] = []
    marks = []
    for time, label, fault in sorted(wanted):
        x = axis.x(time)
        length = len(label) * _CHAR_PX
        left = x + 5 + length > WIDTH
        extent = (x - 5 - length, x - 4) if left else (x, x + 10 + length)
        row = next(
            (i for i, taken in enumerate(rows) if all(extent[0] > b or extent[1] < a for a, b in taken)), len(rows)
        )
        if row == len(rows):
            rows.append([])
        rows[row].append(extent)
        marks.append(
            Mark(
                x=x,
                label=label,
                label_x=x - 5 if left else x + 5,
                label_y=11 + row * _LABEL_ROW_PX,
                anchor="end" if left else "start",
                fault=fault,
            )
        )
    return marks, len(rows) * _LABEL_ROW_PX + 8.0


def _bars(
    axis: Axis, drawn: Sequence[_Timed], top: float, example: Example
) -> tuple[list[Bar], list[tuple[float, str]], float]:
    """Bars in a lane per process, with further rows where labels would collide."""
    lanes: dict[Any, list[_Timed]] = {}
    for timed in drawn:
        lanes.setdefault(first_value(timed[0], "process", "client"), []).append(timed)
    bars: list[Bar] = []
    labels: list[tuple[float, str]] = []
    y = top + 4
    for ops in lanes.values():
        labels.append((y + 14, _who(ops[0][0])))
        rows: list[float] = []
        for op, (start, end), guilty in ops:
            x0 = axis.x(start)
            width = max(_MIN_BAR_PX, (WIDTH - RIGHT if end is None else axis.x(end)) - x0)
            label = op_words(op, example.offset, example.value)
            label = label if len(label) <= 96 else label[:95] + "…"  # noqa: PLR2004 - what a lane can hold
            length = len(label) * _CHAR_PX * (BOLD if guilty else 1.0)
            right = x0 + width + 6 + length <= WIDTH
            inside = not right and x0 - 6 - length < LEFT
            extent = (x0 - 4 if right or inside else x0 - 10 - length, x0 + width + (10 + length if right else 4))
            row = next((i for i, taken in enumerate(rows) if taken < extent[0]), len(rows))
            rows[row : row + 1] = [extent[1]]
            bars.append(
                Bar(
                    x=x0,
                    y=y + row * _ROW_PX,
                    width=round(width, 1),
                    outcome=str(op.get("type", "info")),
                    guilty=guilty,
                    open=end is None,
                    label=label,
                    anchor="start" if right or inside else "end",
                    label_x=round(x0 + width + 6 if right else x0 + 6 if inside else x0 - 6, 1),
                    title="\n".join(
                        f"{key}: {words.cell_text(value)}" for key, value in op.items() if value is not None
                    ),
                )
            )
        y += max(1, len(rows)) * _ROW_PX
    return bars, labels, y + _BAR_PX - _ROW_PX + 10


def _ticks(axis: Axis) -> list[tuple[float, float, str]]:
    """Round times at least 84 pixels apart, none inside a cut."""
    step = next((s for s in _STEPS if s * axis.scale >= 84), 600.0)  # noqa: PLR2004 - room for a label
    digits = max(1, -math.floor(math.log10(step))) if step < 1 else 1
    ticks: list[tuple[float, float, str]] = []
    for start, end in axis.pieces:
        times = [n * step for n in range(math.ceil(start / step), math.floor(end / step) + 1)][:40]
        for time in times or [(start + end) / 2]:
            x = axis.x(time)
            clear = all(abs(x - axis.x((a + b) / 2)) >= _LABEL_PX for a, b in axis.cuts)
            if clear and (not ticks or x - ticks[-1][0] >= _LABEL_PX):
                ticks.append((min(x, WIDTH - _LABEL_PX / 2), time, f"{time:.{digits}f} s"))
    return ticks
