"""A cycle of transactions: what explains each of its steps, and the kind that it is by that (names of Elle 0.2.8)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkers.cycles.shapes import Graph, Relation, Shape, steps_of


class Cycle(NamedTuple):
    """A cycle of a kind. ``nodes``: its transactions. ``steps``: what explains each pair, the last one to the first.

    ``second_reasons``: of a cycle that is found again as another kind, what else explains some pairs, by their places.
    """

    kind: str
    nodes: tuple[int, ...]
    steps: tuple[Relation, ...]
    second_reasons: Mapping[int, Relation] = {}

    def is_same(self, other: "Cycle") -> bool:
        """Whether another one has the same steps, wherever the two begin."""
        own, its = (set(zip(steps_of(one.nodes), one.steps, strict=True)) for one in (self, other))
        return own == its


def only_first(graph: Graph, explains: tuple[Relation, ...]) -> Graph:
    """The pairs, each with what explains it alone."""
    return {a: {b: int(_first(own, explains)) for b, own in after.items()} for a, after in graph.items()}


def _first(relations: int, explains: tuple[Relation, ...]) -> Relation:
    return next(one for one in explains if one & relations)


def named_cycle(graph: Graph, nodes: Sequence[int], explains: tuple[Relation, ...]) -> Cycle:
    """A cycle by its transactions, each step explained by the first relation of an order that is there."""
    steps = tuple(_first(graph[a][b], explains) for a, b in steps_of(nodes))
    return Cycle(name_of(steps), tuple(nodes), steps)


def second_reasons(graph: Graph, cycle: Cycle, shape: Shape) -> dict[int, Relation]:
    """What a kind asks for of the pairs of a cycle, by their places, where something else explains them."""
    pairs = enumerate(zip(steps_of(cycle.nodes), cycle.steps, strict=True))
    return {
        place: one
        for place, ((a, b), step) in pairs
        for one in map(Relation, shape.required)
        if one is not step and one & graph[a][b]
    }


def name_of(steps: Sequence[Relation]) -> str:
    """The kind of a cycle, by what explains its steps; at least one of them is a dependency."""
    counts = Counter(steps)
    beside = any(a is Relation.RW and b is Relation.RW for a, b in zip(steps, (*steps[1:], steps[0]), strict=True))
    suffix = "-realtime" if counts[Relation.REALTIME] else "-process" if counts[Relation.PROCESS] else ""
    if counts[Relation.RW]:
        base = "G-single-item" if counts[Relation.RW] == 1 else "G2-item" if beside else "G-nonadjacent-item"
    else:
        base = "G1c" if counts[Relation.WR] else "G0"
    return base + suffix
