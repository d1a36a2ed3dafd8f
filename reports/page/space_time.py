"""Who asked whom around one occurrence of an anomaly: what the page draws as lines between clients and nodes.

Pure. Where between call and answer a node acted is not known; the page lets both lines meet in the middle.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import Example
from chaos.storage.runinfo import RunInfo
from reports.page.op_words import first_value, op_words
from reports.page.panels import Band
from reports.page.trace import MAX_OPS, blamed_faults, timed_of

ALONE_S: Final = 5.0
"""Shown before and behind a moment that no operation belongs to: nodes are asked once a second who leads."""
NEAR_S: Final = 10.0
"""Operations of the occurrence that are further from its first one, as final reads are, are left to the list."""
LEAST_S: Final = 0.02
"""A shorter stretch shows nothing of what went on beside the operations."""


class Act(msgspec.Struct, frozen=True, array_like=True):
    """One operation of an occurrence. ``end`` None: never answered. ``client``, ``node``: -1 where not known.

    ``number``: its place in the order of time, from 1, as in the list beside the drawing.
    """

    number: int
    start: float
    end: float | None
    client: int
    node: int
    type: str
    guilty: bool
    words: str


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """The stretch that is drawn, seconds since the load began, and the operations."""

    start: float
    end: float
    acts: tuple[Act, ...] = ()


def scene_of(example: Example, run: RunInfo, faults: Sequence[Band] = ()) -> Scene | None:
    """What to draw of an occurrence; None where nothing says when it happened.

    Where a fault is blamed, the stretch has its beginning in view.
    """
    timed = timed_of(example)[:MAX_OPS]
    if not timed:
        if example.at_ns is None:
            return None
        at = (example.at_ns - run.origin_ns) / NS_PER_S
        return Scene(start=round(at - ALONE_S, 4), end=round(at + ALONE_S, 4))
    start, end = _stretch([span for _, span, _ in timed], [band.start for band in blamed_faults(example, faults)])
    places = {node.name: place for place, node in enumerate(run.nodes)}
    ordered = sorted(timed, key=lambda row: row[1][0])
    acts = (
        _act(number, op, span, guilty=guilty, about=example, places=places)
        for number, (op, span, guilty) in enumerate(ordered, 1)
    )
    return Scene(start=start, end=end, acts=tuple(acts))


def _stretch(spans: Sequence[tuple[float, float | None]], begun: Sequence[float]) -> tuple[float, float]:
    """From the first to the last of the operations that are near to the first one, and of the faults, with a margin."""
    at = spans[0][0]
    near = [span for span in spans if abs(span[0] - at) <= NEAR_S]
    begin = min([*(start for start, _ in near), *begun])
    last = max([*(min(start if end is None else end, at + NEAR_S) for start, end in near), *begun])
    margin = max(0.06 * (last - begin), (LEAST_S - (last - begin)) / 2)
    return round(begin - margin, 4), round(last + margin, 4)


def _act(
    number: int,
    op: dict[str, Any],
    span: tuple[float, float | None],
    *,
    guilty: bool,
    about: Example,
    places: dict[str, int],
) -> Act:
    client = first_value(op, "client", "process")
    return Act(
        number=number,
        start=round(span[0], 4),
        end=None if span[1] is None else round(span[1], 4),
        client=-1 if client is None else int(client),
        node=places.get(str(op.get("node")), -1),
        type=str(op.get("type", "info")),
        guilty=guilty,
        words=op_words(op, about.offset, about.value),
    )
