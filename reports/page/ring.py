"""A circle of operations that all come before each other: a box for each, one below the other, an arrow for each edge.

The last arrow leads back to the first box, at the left. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from chaos.core.verdict import Edge

BOX: Final = (270.0, 28.0)
_LEFT: Final = 104.0
"""Room for the arrow that leads back, and its kind."""
_DOWN: Final = 66.0
_RIGHT: Final = 24.0
_MARGIN: Final = 4.0
_BESIDE: Final = 12.0


class Node(msgspec.Struct, frozen=True):
    """An operation and the upper left corner of its box."""

    label: str
    x: float
    y: float


class Arrow(msgspec.Struct, frozen=True):
    """An edge: ``path`` in SVG, and where its number and kind stand, beginning or ending there (``anchor``)."""

    path: str
    number: int
    kind: str
    x: float
    y: float
    anchor: str


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """The picture."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


def ring_of(edges: Sequence[Edge], labels: Mapping[int, str]) -> Ring | None:
    """The picture of a circle; None of none.

    Args:
        edges: each from an operation to the next, the last to the first.
        labels: what operations are called, by number.
    """
    if not edges:
        return None
    nodes = tuple(
        Node(labels.get(edge.before, str(edge.before)), _LEFT, _MARGIN + _DOWN * at) for at, edge in enumerate(edges)
    )
    down = [_arrow_down(number, edge.kind, nodes[number - 1]) for number, edge in enumerate(edges[:-1], 1)]
    back = _arrow_back(len(edges), edges[-1].kind, nodes[-1], nodes[0])
    return Ring(
        width=_LEFT + BOX[0] + _RIGHT,
        height=_DOWN * (len(edges) - 1) + BOX[1] + 2 * _MARGIN,
        nodes=nodes,
        arrows=(*down, back),
    )


def _arrow_down(number: int, kind: str, above: Node) -> Arrow:
    """An arrow from a box to the one below it."""
    x, top, bottom = above.x + BOX[0] / 2, above.y + BOX[1], above.y + _DOWN
    return Arrow(f"M{x} {top}V{bottom - 1}", number, kind, x + _BESIDE, (top + bottom) / 2, "start")


def _arrow_back(number: int, kind: str, last: Node, first: Node) -> Arrow:
    """The arrow from the last box to the first, around the left of all; of one box to itself likewise."""
    apart = 0.0 if last is first else BOX[1] / 2
    low, high = last.y + BOX[1] - (BOX[1] - apart) / 2, first.y + (BOX[1] - apart) / 2
    x = _LEFT - 36
    path = f"M{_LEFT} {low}C{x} {low} {x} {high} {_LEFT - 1} {high}"
    return Arrow(path, number, kind, _LEFT - 36, (low + high) / 2, "end")
