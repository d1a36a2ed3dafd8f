"""Operations by process on one axis of events: every label has room, and what overlaps in time overlaps in the picture.

The axis is not to scale: it has a place for each beginning and each end, in their order. Pure.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from reports.imported.bars import Bar

LEFT: Final = 96
CHARACTER: Final = 7.3
STEP: Final = 16.0
HEIGHT: Final = 34
BAR: Final = 22
_PADDING: Final = 26.0


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A bar with its place. ``open``: it goes on to the right edge, since nobody knows its end."""

    bar: Bar
    x: float
    y: float
    width: float
    open: bool


class Lanes(msgspec.Struct, frozen=True, kw_only=True):
    """The picture. ``names``: the processes with their heights."""

    width: float
    height: float
    names: tuple[tuple[float, str], ...]
    boxes: tuple[Box, ...]


def lanes_of(bars: Sequence[Bar]) -> Lanes | None:
    """The picture of some operations; None of none."""
    if not bars:
        return None
    at = _places(bars)
    right = max(at.values()) + 2 * STEP
    ordered = sorted(bars, key=lambda bar: bar.begin)
    lanes = _lanes(ordered)
    named = sorted(set(lanes), key=lambda lane: (not lane[0].isdecimal(), len(lane[0]), lane))
    rows = {lane: number for number, lane in enumerate(named)}
    boxes = []
    for bar, lane in zip(ordered, lanes, strict=True):
        x = at[bar.begin, 0]
        until = right if bar.end is None else at[bar.end, 1]
        y = rows[lane] * HEIGHT + (HEIGHT - BAR) / 2
        boxes.append(Box(bar=bar, x=x, y=y, width=until - x, open=bar.end is None))
    names = tuple((row * HEIGHT + HEIGHT / 2 + 4, name) for (name, _), row in rows.items())
    return Lanes(width=right + STEP, height=len(rows) * HEIGHT, names=names, boxes=tuple(boxes))


def _lanes(ordered: Sequence[Bar]) -> list[tuple[str, int]]:
    """Which lane of its process each bar is in, from 0: one is enough but for what no process is known of.

    That is spread out so that nothing covers anything.
    """
    ends: list[float] = []
    out = []
    for bar in ordered:
        if bar.process:
            out.append((bar.process, 0))
            continue
        free = next((lane for lane, end in enumerate(ends) if end < bar.begin), len(ends))
        ends[free : free + 1] = [math.inf if bar.end is None else bar.end]
        out.append((bar.process, free))
    return out


def _places(bars: Sequence[Bar]) -> dict[tuple[float, int], float]:
    """Where each beginning (moment, 0) and each end (moment, 1) is drawn: as far left as labels let it.

    Of one moment all beginnings come first: what only touches counts as concurrent.
    """
    begun: dict[float, list[Bar]] = {}
    ended: dict[float, list[Bar]] = {}
    for bar in bars:
        begun.setdefault(bar.begin, []).append(bar)
        if bar.end is not None:
            ended.setdefault(bar.end, []).append(bar)
    moments = sorted({*((moment, 0) for moment in begun), *((moment, 1) for moment in ended)})
    at: dict[tuple[float, int], float] = {}
    x = LEFT - STEP
    for moment, end in moments:
        x += STEP
        if end:
            x = max(x, *(at[bar.begin, 0] + _room(bar) for bar in ended[moment]))
        else:
            x = max(x, *(_begin_behind(bar, bars, at) for bar in begun[moment]))
        at[moment, end] = x
    at[math.inf, 1] = max([x, *(at[bar.begin, 0] + _room(bar) for bar in bars if bar.end is None)])
    return at


def _begin_behind(bar: Bar, bars: Sequence[Bar], at: dict[tuple[float, int], float]) -> float:
    """Where a bar may begin so that it does not cover the label of an open one of the same process."""
    before = [one for one in bars if one.process == bar.process != "" and one.end is None and one.begin < bar.begin]
    return max((at[one.begin, 0] + _room(one) for one in before), default=0.0)


def _room(bar: Bar) -> float:
    """How wide a bar must be for its label."""
    return len(bar.label) * CHARACTER + _PADDING
