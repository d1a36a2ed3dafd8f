"""The circle of sends and real time that the reference checker meets first, which gives the circle its name.

Elle explains each step of a circle by what it finds first: the order of sends (ww), then a poll (wr), then real time. A
step of real time from a send to a poll of its message is therefore called wr, and the circle ``G1c-realtime`` instead
of ``G0-realtime``. Which circle is explained depends on the order of Elle's search, so that order is followed here.

Source: ``elle.core/realtime-graph`` of Elle 0.2.7; ``reference_cycle`` walks the graph. The module does not look for
circles where ``search`` has found none.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from chaos.core.op import Type
from checkers.cycles.reference_cycle import OutOfStepsError, reference_cycle
from checkers.cycles.shapes import Budget, Relation, Shape, steps_of
from checkers.history.columns import Ints
from checkers.kafka.cycle_search import Graph, Part, Step
from checkers.kafka.graph import Edges
from checkers.kafka.rows import NEVER, Records

STEPS: Final = 300_000
"""Steps of all searches of one history. A circle that is not met by then keeps its name."""

_NAME: Final = "G0-realtime"
_SHAPE: Final = Shape(Relation.WW | Relation.REALTIME, required=(Relation.REALTIME,))

Pairs = dict[tuple[int, int], int]
"""Edges as rows of records, with the log of each; -1 for real time."""


def name_as_reference(graph: Graph, parts: Sequence[Part], steps: int = STEPS) -> list[Part]:
    """The parts, with circles of sends and real time named as the reference names them.

    Args:
        graph: where the parts are from.
        parts: as ``cycles.parts`` gives them.
        steps: how many steps are searched in all.
    """
    budget = Budget(steps)
    return [_named(graph, part, budget) if _NAME in part.kinds else part for part in parts]


def _named(graph: Graph, part: Part, budget: Budget) -> Part:
    records = graph.records
    try:
        ww, wr = (_within(graph, part, edges, budget) for edges in (graph.ww, graph.wr))
        polled = {pair: key for pair, key in wr.items() if pair not in ww and _ordered(records, *pair)}
        if not polled:
            return part
        circle = _first(ww, _real_time(records, part.members, budget), records.index, budget)
    except OutOfStepsError:
        return part
    steps = tuple(_explained(pair, ww, polled) for pair in steps_of(circle))
    why = {step.why for step in steps}
    if "wr" not in why:
        return part
    name = "G1c-realtime" if "realtime" in why else "G1c"
    return Part(part.members, tuple(name if kind == _NAME else kind for kind in part.kinds), steps)


def _within(graph: Graph, part: Part, edges: Edges, budget: Budget) -> Pairs:
    """The edges between members of a part."""
    source, target = graph.rows[edges.source], graph.rows[edges.target]
    own = np.flatnonzero(np.isin(source, part.members) & np.isin(target, part.members))
    _take(budget, len(own))
    return dict(zip(zip(source[own].tolist(), target[own].tolist(), strict=True), edges.key[own].tolist(), strict=True))


def _take(budget: Budget, steps: int) -> None:
    if not budget.take(steps):
        raise OutOfStepsError


def _ordered(records: Records, a: int, b: int) -> bool:
    """Whether ``a`` was ok before ``b`` began."""
    return bool(records.type[a] == Type.OK) and a < int(records.invoke[b]) != NEVER


def _real_time(records: Records, members: Ints, budget: Budget) -> Pairs:
    """Real time between members, without what follows from it: nothing began and was ok between the two."""
    ok = np.flatnonzero((records.sends | records.polls) & (records.type == Type.OK) & (records.invoke != NEVER))
    latest = np.maximum.accumulate(records.invoke[ok]) if len(ok) else ok
    inside, pairs = set(members.tolist()), {}
    for member in members[(records.invoke[members] != NEVER) & ~records.open[members]].tolist():
        hi = int(np.searchsorted(ok, records.invoke[member]))
        lo = int(np.searchsorted(ok, latest[hi - 1])) if hi else 0
        _take(budget, hi - lo)
        pairs.update({(one, member): -1 for one in ok[lo:hi].tolist() if one in inside})
    return pairs


def _explained(pair: tuple[int, int], ww: Pairs, polled: Pairs) -> Step:
    for why, pairs in (("ww", ww), ("wr", polled)):
        if pair in pairs:
            return Step(*pair, why, pairs[pair])
    return Step(*pair, "realtime")


def _first(ww: Pairs, by_time: Pairs, index: Ints, budget: Budget) -> list[int]:
    """The rows of the circle that is met first, without its first row again; empty for none."""
    graph: dict[int, dict[int, int]] = {}
    for pairs, relation in ((ww, Relation.WW), (by_time, Relation.REALTIME)):
        for a, b in pairs:
            following = graph.setdefault(a, {})
            following[b] = following.get(b, 0) | relation
    rows = {row for a, after in graph.items() for row in (a, *after)}
    return reference_cycle(graph, {row: int(index[row]) for row in rows}, _SHAPE, budget)
