"""Which kinds of cycles a graph of transactions holds, under the names of Elle 0.2.8.

Each strongly connected component is judged alone. First comes what a model's cycle is at all: a few relations hold a
component of their own or not, which is decided for the whole graph in linear time. Only the kinds that this leaves
possible are searched, the worst first; what is a special case of a kind that was found is not searched again. A cycle
is named after the relations that explain it: of each pair the first of an order, so that a pair in real time that is
also a dependency is a dependency. A cycle that is explained otherwise than its kind is not one of that kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from checkers.cycles.components import Arrows, chain, closest, closest_count, components
from checkers.cycles.components import join_arrows as joined_arrows
from checkers.cycles.reference_cycle import OutOfStepsError, reference_cycle
from checkers.cycles.shapes import Anti, Budget, Graph, Relation, Shape, shortest
from checkers.history.columns import Ints, Mask
from checkers.txn.cycle_names import Cycle, named_cycle, only_first, second_reasons
from checkers.txn.dependencies import Dependencies, join_dependencies
from checkers.txn.edge_bundles import NO_BUNDLES, Bundles
from checkers.txn.models import CYCLE_EXISTS, forbidden_anomalies, ruled_out, stronger_models, with_special_cases

WW, WR, RW, PROCESS, REALTIME = Relation

STEPS: Final = 2_000_000
"""Steps of all searches of one history; what is not found by then is only known to exist."""
PAIRS: Final = 5_000_000
"""Pairs of one graph that are searched for cycles."""
_NAMED_STEPS: Final = 100_000
"""Steps of the walk that finds the cycle which the reference names a component after; for each kind."""
_NAMED_SIZE: Final = 2_000
"""Components with more transactions are named after a shortest cycle."""

_BASE: Final[Mapping[str, Shape]] = {
    "G-single-item": Shape(WW | WR, anti=Anti.ONE),
    "G0": Shape(WW),
    "G-nonadjacent-item": Shape(WW | WR, anti=Anti.APART),
    "G1c": Shape(WW | WR, required=(WR,)),
    "G2-item": Shape(WW | WR, anti=Anti.SEVERAL),
}
_ORDER: Final = (
    *("G-single-item", "G0", "G-nonadjacent-item", "G-single-item-process", "G1c", "G-nonadjacent-item-process"),
    *("G-single-item-realtime", "G2-item", "G-nonadjacent-item-realtime", "G0-process", "G1c-process"),
    *("G2-item-process", "G0-realtime", "G1c-realtime", "G2-item-realtime"),
)
"""From what is a special case of most, or worse, to what is least; by processes and real time comes last."""

_BY_ITS_NAME: Final = ("G-single-item", "G-nonadjacent-item", "G2-item")
"""How kinds begin whose cycle has to be explained as one of them."""


def _shape(name: str) -> Shape:
    for suffix, relation in (("-process", PROCESS), ("-realtime", REALTIME)):
        if name.endswith(suffix):
            base = _BASE[name.removesuffix(suffix)]
            return Shape(base.allowed | relation, (*base.required, relation), base.anti)
    return _BASE[name]


KINDS: Final[Mapping[str, Shape]] = {name: _shape(name) for name in _ORDER}
"""All kinds of cycles, in the order in which they are searched."""


class _Level(NamedTuple):
    """The pairs that may hold no cycle if a model holds. ``hop``: one rw may follow each of the others."""

    relations: int
    hop: bool = False


_LEVELS: Final[Mapping[str, _Level]] = {
    "read-uncommitted": _Level(WW),
    "read-committed": _Level(WW | WR),
    "snapshot-isolation": _Level(WW | WR, hop=True),
    "repeatable-read": _Level(WW | WR | RW),
    "serializable": _Level(WW | WR | RW),
    "strong-session-read-uncommitted": _Level(WW | PROCESS),
    "strong-session-read-committed": _Level(WW | WR | PROCESS),
    "strong-session-snapshot-isolation": _Level(WW | WR | PROCESS, hop=True),
    "strong-session-serializable": _Level(WW | WR | RW | PROCESS),
    "strong-read-uncommitted": _Level(WW | REALTIME),
    "strong-read-committed": _Level(WW | WR | REALTIME),
    "strong-snapshot-isolation": _Level(WW | WR | REALTIME, hop=True),
    "strict-serializable": _Level(WW | WR | RW | REALTIME),
}
assert tuple(_LEVELS) == tuple(CYCLE_EXISTS)


class Spans(NamedTuple):
    """When each transaction began and was over, and whether it was."""

    invoke: Ints
    complete: Ints
    over: Mask

    def of(self, transactions: Ints) -> "Spans":
        """Those of some."""
        return Spans(self.invoke[transactions], self.complete[transactions], self.over[transactions])


@dataclass(frozen=True, slots=True)
class History:
    """Transactions and what is known of their order.

    Attributes:
        size: how many there are.
        pairs: dependencies, and the order of processes if it is asked for.
        bundles: anti-dependencies of many on many.
        explains: which relation of a pair explains it, the first of these.
        index: the number of each one's completion.
        spans: real time; None if it is not asked for.
    """

    size: int
    pairs: Dependencies
    explains: tuple[Relation, ...]
    index: Ints
    bundles: Bundles = NO_BUNDLES
    spans: Spans | None = None

    def has_pairs(self) -> bool:
        """Whether any transaction comes before another."""
        if len(self.pairs.source) or self.bundles.has_pairs():
            return True
        if self.spans is None or not self.spans.over.any():
            return False
        return int(self.spans.complete[self.spans.over].min()) < int(self.spans.invoke.max())


class Found(NamedTuple):
    """What one strongly connected component holds.

    ``members``: its transactions, ascending. ``levels``: models with a forbidden cycle, the weakest only; each with a
    cycle that no kind of cycle accounts for, or None. ``cycles``: one of each kind that was found. ``whole``: whether
    all kinds that are possible were searched.
    """

    members: Ints
    levels: Mapping[str, Cycle | None]
    cycles: tuple[Cycle, ...]
    whole: bool = True


class Cycles(NamedTuple):
    """The components that hold cycles, by their first transaction, and the dependencies within them."""

    components: tuple[Found, ...]
    pairs: Dependencies


def find_cycles(history: History, steps: int = STEPS, pairs: int = PAIRS) -> Cycles:
    """What cycles there are.

    Args:
        history: transactions and their order.
        steps: how many steps are searched in all.
        pairs: how many pairs are searched; whether there is a cycle is known of all.
    """
    arrows, points = _all_arrows(history)
    label, cyclic = components(history.size + points, history.size, arrows)
    nodes = np.flatnonzero(cyclic)
    if not len(nodes):
        return Cycles((), history.pairs.only(nodes))
    inside = _Inside(history, label, nodes, pairs)
    levels = {model: inside.cyclic_at(level) for model, level in _LEVELS.items()}
    order = nodes[np.argsort(label[nodes], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    search = _Search(history, inside.graph(), steps, whole=inside.whole)
    groups.sort(key=lambda group: int(group[0]))
    components_ = tuple(search.component(group, _weakest(levels, group, inside)) for group in groups)
    return Cycles(components_, inside.pairs)


def _all_arrows(history: History) -> tuple[Arrows, int]:
    """All pairs as arrows, bundles and real time over points, and how many points there are."""
    bundled, points = history.bundles.arrows(history.size, history.size)
    arrows = joined_arrows(Arrows(history.pairs.source, history.pairs.target), bundled)
    if history.spans is None:
        return arrows, points
    by_time, more = chain(*history.spans, history.size + points)
    return joined_arrows(arrows, by_time), points + more


class _Inside:
    """The transactions that are on cycles, and the pairs within their components.

    Attributes:
        nodes: the transactions, ascending; ``place``: of each transaction where it is among them.
        single: pairs that are no part of a bundle. ``bundles``: those that are.
        pairs: both, one by one. ``closest``: real time without what follows from it. ``whole``: whether these are all.
    """

    def __init__(self, history: History, label: Ints, nodes: Ints, most: int) -> None:
        self.history, self.nodes = history, nodes
        self.place = np.full(history.size, -1, dtype=np.int64)
        self.place[nodes] = np.arange(len(nodes))
        pairs = history.pairs
        within = (label[pairs.source] == label[pairs.target]) & (self.place[pairs.source] >= 0)
        self.single = pairs.only(within)
        self.bundles = history.bundles.within(label, self.place >= 0)
        bundled, all_bundled = self.bundles.pairs(most)
        self.pairs = join_dependencies(self.single, bundled)
        self.closest = Arrows(nodes[:0], nodes[:0])
        self.whole = all_bundled and len(self.pairs.source) <= most
        if history.spans is not None and closest_count(*history.spans, nodes) <= most:
            near = closest(*history.spans, nodes)
            same = label[near.source] == label[near.target]
            self.closest = Arrows(near.source[same], near.target[same])
        elif history.spans is not None:
            self.whole = False

    def _arrows(self, relations: int, first_point: int) -> tuple[Arrows, int]:
        """The pairs of some relations between places, bundles and real time over points; how many points there are."""
        pairs, spans = self.single.of(relations), self.history.spans
        found, points = Arrows(self.place[pairs.source], self.place[pairs.target]), 0
        if relations & RW:
            bundled, points = self.bundles.renumbered(self.place).arrows(len(self.nodes), first_point)
            found = joined_arrows(found, bundled)
        if relations & REALTIME and spans is not None:
            by_time, more = chain(*spans.of(self.nodes), first_point + points)
            found, points = joined_arrows(found, by_time), points + more
        return found, points

    def cyclic_at(self, level: _Level) -> Mask:
        """Which of the nodes are on a cycle of a level's pairs."""
        size = len(self.nodes)
        if not level.hop:
            arrows, points = self._arrows(level.relations, size)
            return components(size + points, size, arrows).cyclic
        # A node has a second one, where the last step was an rw: only other steps lead on from there.
        arrows, points = self._arrows(level.relations, 2 * size)
        rw, more = self._arrows(RW, 2 * size + points)
        hops = Arrows(rw.source, np.where(rw.target < size, rw.target + size, rw.target))
        own = arrows.source < size
        on = Arrows(arrows.source[own] + size, arrows.target[own])
        cyclic = components(2 * size + points + more, 2 * size, joined_arrows(arrows, on, hops)).cyclic
        found: Mask = cyclic[:size] | cyclic[size:]
        return found

    def graph(self) -> Graph:
        """The pairs that are to be searched, each with its relations."""
        pairs = self.pairs
        graph: dict[int, dict[int, int]] = {}
        for a, b, relation in zip(pairs.source.tolist(), pairs.target.tolist(), pairs.relation.tolist(), strict=True):
            following = graph.setdefault(a, {})
            following[b] = following.get(b, 0) | relation
        for a, b in zip(self.closest.source.tolist(), self.closest.target.tolist(), strict=True):
            following = graph.setdefault(a, {})
            following[b] = following.get(b, 0) | REALTIME
        return graph


def _weakest(levels: Mapping[str, Mask], group: Ints, inside: _Inside) -> tuple[str, ...]:
    """The models with a forbidden cycle in a component, but for those that are stronger than one of them."""
    own = inside.place[group]
    out: list[str] = []
    beyond: set[str] = set()
    for model, cyclic in levels.items():
        if model not in beyond and bool(cyclic[own].any()):
            out.append(model)
            beyond |= stronger_models([model])
    return tuple(out)


def _impossible(levels: Sequence[str]) -> set[str]:
    """The kinds that a component with forbidden cycles of these models only cannot hold."""
    possible = stronger_models(levels)
    return forbidden_anomalies([model for model in _LEVELS if model not in possible])


class _Search:
    """The search of all components, with the steps that are left for it. ``whole``: whether the graph has all pairs."""

    def __init__(self, history: History, graph: Graph, steps: int, *, whole: bool) -> None:
        self.history, self.graph, self.whole = history, graph, whole
        self.budget, self.named = Budget(steps), Budget(steps)

    def component(self, group: Ints, levels: tuple[str, ...]) -> Found:
        """What one component holds. ``levels``: the models that forbid it, the weakest."""
        own = {a: self.graph.get(a, {}) for a in group.tolist()}
        done = _impossible(levels)
        cycles: list[Cycle] = []
        for kind in KINDS:
            if kind not in done and self.budget.left > 0:
                cycle = self._cycle(own, kind, cycles)
                if cycle is not None:
                    cycles.append(cycle)
                    done |= with_special_cases([kind])
        out = ruled_out([cycle.kind for cycle in cycles])
        shown = {level: None if level in out else self._of_level(own, level) for level in levels}
        return Found(group, shown, tuple(cycles), whole=self.whole and self.budget.left > 0)

    def _of_level(self, graph: Graph, level: str) -> Cycle | None:
        """A shortest cycle that a model forbids."""
        relations, hop = _LEVELS[level]
        allowed = _only(graph, relations | (RW if hop else 0))
        own = _cores(allowed)
        shapes = [Shape(relations, anti=anti) for anti in ((Anti.ONE, Anti.APART) if hop else (Anti.NONE,))]
        nodes = next(filter(None, (shortest(own, shape, self.budget) for shape in shapes)), [])
        return named_cycle(allowed, nodes, self.history.explains) if nodes else None

    def _cycle(self, graph: Graph, kind: str, told: Sequence[Cycle]) -> Cycle | None:
        """A cycle of a kind, as it is explained; a shortest one of those that are explained so, or one not yet told."""
        shape = KINDS[kind]
        allowed = _only(graph, shape.all)
        nodes = self._first(allowed, shape)
        if not nodes:
            return None
        cycle = named_cycle(graph, nodes, self.history.explains)
        if cycle.kind != kind and kind.startswith(_BY_ITS_NAME):
            return None
        plain = only_first(graph, self.history.explains)
        own = KINDS[cycle.kind]
        short = shortest(_cores(_only(plain, own.all)), own, self.budget)
        found = [*([named_cycle(graph, short, self.history.explains)] if short else []), cycle]
        new = (one for one in found if not any(one.is_same(other) for other in told))
        return next(new, None) or found[0]._replace(second_reasons=second_reasons(graph, found[0], shape))

    def _first(self, allowed: Graph, shape: Shape) -> list[int]:
        """The cycle that the reference meets first; a shortest one where its walk is too long."""
        steps = min(_NAMED_STEPS, self.named.left)
        if len(allowed) <= _NAMED_SIZE and steps > 0:
            budget = Budget(steps)
            index = self.history.index
            try:
                return reference_cycle(allowed, {node: _hashed(index, node) for node in allowed}, shape, budget)
            except OutOfStepsError:
                pass
            finally:
                self.named.take(steps - budget.left)
        return shortest(_cores(allowed), shape, self.budget)


def _hashed(index: Ints, node: int) -> int:
    """The number of a transaction's completion; one of its own for a transaction that has none."""
    number = int(index[node])
    return number if number >= 0 else -1 - node


def _only(graph: Graph, relations: int) -> Graph:
    """The pairs of some relations."""
    return {a: {b: own & relations for b, own in after.items() if own & relations} for a, after in graph.items()}


def _cores(graph: Graph) -> Graph:
    """The pairs within strongly connected components of a graph; they alone can be on cycles."""
    numbers = {node: number for number, node in enumerate(graph)}
    source = [numbers[a] for a, after in graph.items() for _ in after]
    target = [numbers[b] for after in graph.values() for b in after]
    arrows = Arrows(np.array(source, dtype=np.int64), np.array(target, dtype=np.int64))
    label = components(len(numbers), len(numbers), arrows).label.tolist()
    return {
        a: {b: own for b, own in after.items() if label[numbers[b]] == label[numbers[a]]} for a, after in graph.items()
    }
