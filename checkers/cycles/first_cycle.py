"""The circle of sends and real time that the reference checker meets first, which gives the circle its name.

Elle explains each step of a circle by what it finds first: the order of sends (ww), then a poll (wr), then real time. A
step of real time from a send to a poll of its message is therefore called wr, and the circle ``G1c-realtime`` instead
of ``G0-realtime``. Which circle is explained depends on the order of Elle's search, so that order is followed here.

Source: ``elle.bfs`` and ``elle.core/realtime-graph`` of Elle 0.2.7. The module does not look for circles where
``cycles`` has found none.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from chaos.core.op import Type
from checkers.cycles.graph import Edges
from checkers.cycles.hash_order import as_mapped
from checkers.cycles.search import Graph, Part, Step
from checkers.history.columns import Ints
from checkers.kafka.rows import NEVER, Records

STEPS: Final = 300_000
"""Steps of all searches of one history. A circle that is not met by then keeps its name."""

_NAME: Final = "G0-realtime"

Pairs = dict[tuple[int, int], int]
"""Edges as rows of records, with the log of each; -1 for real time."""

Whys = tuple[bool, bool]
"""Whether an edge is one of sends, and whether it is one of real time."""


class _OutOfStepsError(Exception):
    """The search has taken as many steps as it may."""


class _Budget:
    def __init__(self, steps: int) -> None:
        self.left = steps

    def take(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise _OutOfStepsError


def named(graph: Graph, parts: Sequence[Part], steps: int = STEPS) -> list[Part]:
    """The parts, with circles of sends and real time named as the reference names them.

    Args:
        graph: where the parts are from.
        parts: as ``cycles.parts`` gives them.
        steps: how many steps are searched in all.
    """
    budget = _Budget(steps)
    return [_named(graph, part, budget) if _NAME in part.kinds else part for part in parts]


def _named(graph: Graph, part: Part, budget: _Budget) -> Part:
    records = graph.records
    try:
        ww, wr = (_within(graph, part, edges, budget) for edges in (graph.ww, graph.wr))
        polled = {pair: key for pair, key in wr.items() if pair not in ww and _ordered(records, *pair)}
        if not polled:
            return part
        circle = _first(ww, _real_time(records, part.members, budget), records.index, budget)
    except _OutOfStepsError:
        return part
    steps = tuple(_explained(pair, ww, polled) for pair in pairwise(circle))
    why = {step.why for step in steps}
    if "wr" not in why:
        return part
    name = "G1c-realtime" if "realtime" in why else "G1c"
    return Part(part.members, tuple(name if kind == _NAME else kind for kind in part.kinds), steps)


def _within(graph: Graph, part: Part, edges: Edges, budget: _Budget) -> Pairs:
    """The edges between members of a part."""
    source, target = graph.rows[edges.source], graph.rows[edges.target]
    own = np.flatnonzero(np.isin(source, part.members) & np.isin(target, part.members))
    budget.take(len(own))
    return dict(zip(zip(source[own].tolist(), target[own].tolist(), strict=True), edges.key[own].tolist(), strict=True))


def _ordered(records: Records, a: int, b: int) -> bool:
    """Whether ``a`` was ok before ``b`` began."""
    return bool(records.type[a] == Type.OK) and a < int(records.invoke[b]) != NEVER


def _real_time(records: Records, members: Ints, budget: _Budget) -> Pairs:
    """Real time between members, without what follows from it: nothing began and was ok between the two."""
    ok = np.flatnonzero((records.sends | records.polls) & (records.type == Type.OK) & (records.invoke != NEVER))
    latest = np.maximum.accumulate(records.invoke[ok]) if len(ok) else ok
    inside, pairs = set(members.tolist()), {}
    for member in members[(records.invoke[members] != NEVER) & ~records.open[members]].tolist():
        hi = int(np.searchsorted(ok, records.invoke[member]))
        lo = int(np.searchsorted(ok, latest[hi - 1])) if hi else 0
        budget.take(hi - lo)
        pairs.update({(one, member): -1 for one in ok[lo:hi].tolist() if one in inside})
    return pairs


def _explained(pair: tuple[int, int], ww: Pairs, polled: Pairs) -> Step:
    for why, pairs in (("ww", ww), ("wr", polled)):
        if pair in pairs:
            return Step(*pair, why, pairs[pair])
    return Step(*pair, "realtime")


class _Walk:
    """Edges of sends and of real time, in the order in which the reference walks them.

    Attributes:
        after: from each row the rows that it leads to, with why.
    """

    def __init__(self, edges: Iterable[tuple[int, int, Whys]], index: Ints) -> None:
        unordered: dict[int, dict[int, Whys]] = {}
        for a, b, why in edges:
            unordered.setdefault(a, {})[b] = why
            unordered.setdefault(b, {})
        self._index = index
        self.after = {a: {b: unordered[a][b] for b in self._sorted(unordered[a])} for a in self._sorted(unordered)}

    def _sorted(self, rows: Iterable[int]) -> list[int]:
        return as_mapped({int(self._index[row]): row for row in rows})

    def only(self, rows: Sequence[int]) -> "_Walk":
        """The edges between some rows."""
        return _Walk(((a, b, self.after[a][b]) for a in rows for b in rows if b in self.after[a]), self._index)


def _first(ww: Pairs, by_time: Pairs, index: Ints, budget: _Budget) -> list[int]:
    """The rows of the circle that is met first, the first of them again at its end; empty for none."""
    walk = _Walk(((a, b, ((a, b) in ww, (a, b) in by_time)) for a, b in {**ww, **by_time}), index)
    return next(filter(None, (_from(start, walk, budget) for start in walk.after)), [])


def _from(start: int, walk: _Walk, budget: _Budget) -> list[int]:
    """The circle that is met first on the way from a row, one step of all ways after the other.

    The first step is one of real time; a way that comes back to itself elsewhere is searched for a circle alone.
    """
    ways: list[tuple[list[int], bool]] = [([start], False)]  # rows, and whether one of the steps is real time
    while ways:
        going = []
        for rows, timely in ways:
            if rows[-1] not in rows[:-1]:
                going.append((rows, timely))
            elif timely and rows[0] == rows[-1]:
                return rows
            elif timely:
                ring = rows[rows.index(rows[-1]) :]
                own = walk.only(ring)
                found = next(filter(None, (_from(one, own, budget) for one in ring)), [])
                if found:
                    return found
        ways = [way for rows, timely in going for way in _further(rows, timely, walk.after[rows[-1]])]
        budget.take(len(ways))
    return []


def _further(rows: list[int], timely: bool, after: Mapping[int, Whys]) -> Iterable[tuple[list[int], bool]]:
    for row, (by_sends, by_time) in after.items():
        if timely or by_time:
            yield [*rows, row], True
        if by_sends and not timely and len(rows) > 1:
            yield [*rows, row], False
