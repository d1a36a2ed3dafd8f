"""Cycles of dependencies: which kinds each strongly connected part of the graph holds.

Edges are ww, wr and real time (a completed ok before b was invoked). As in Elle (elle.txn 0.2.7, restricted to these
edges) each strongly connected part of the whole graph is judged alone: a cycle of ww edges is G0; else one of ww and wr
is G1c; one of ww and real time is G0-realtime; else it takes all three, G1c-realtime. Beside the kind stands the level
that is ruled out (``PL-1-cycle-exists`` ...). Process order is part of real-time order, so Elle never names it.

Real time has n^2 pairs; here a chain of points in time stands for it. Every cycle lies within a stretch of the history
that edges against the order of completions cover, so all else is left out.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from chaos.core.op import Type
from checkers.cycles.components import Arrows, components, join_arrows
from checkers.history.columns import Ints
from checkers.kafka.graph import Edges
from checkers.kafka.rows import NEVER, Records

BUDGET: Final = 100_000_000
"""Edges that are looked at; a history with more is not decided."""


class OverBudgetError(Exception):
    """There are more dependencies than were to be looked at. ``edges``: how many."""

    def __init__(self, edges: int) -> None:
        super().__init__(f"{edges} dependencies")
        self.edges = edges


@dataclass(frozen=True, slots=True)
class Step:
    """One edge. ``why``: ww, wr or realtime. ``key``: the log's id, -1 for real time. Rows of records."""

    source: int
    target: int
    why: str
    key: int = -1


@dataclass(frozen=True, slots=True)
class Part:
    """A strongly connected part of the graph. ``members``: its records, ascending. ``kinds``: what cycles it holds.

    ``circle``: of sends and real time, where the reference's explanation of it gave it another name
    (``first_circle``); else empty.
    """

    members: Ints
    kinds: tuple[str, ...]
    circle: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """The stretches of a history that can hold a cycle.

    Attributes:
        records: the table of all records.
        rows: the records of the stretches, ascending; nodes are positions in it.
        ww, wr: edges between nodes.
    """

    records: Records
    rows: Ints
    ww: Edges
    wr: Edges


def graph_of(records: Records, ww: Edges, wr: Edges, budget: int = BUDGET) -> Graph | None:
    """The part of the graph that cycles can be in; None if there is none.

    Raises:
        OverBudgetError: if there are more edges than the budget.
    """
    source, target = np.concatenate((ww.source, wr.source)), np.concatenate((ww.target, wr.target))
    against = source > target
    if not against.any():
        return None
    if len(source) > budget:
        raise OverBudgetError(len(source))
    # How many edges against the order of rows cover the step from each row to the next.
    steps = np.bincount(target[against], minlength=len(records)) - np.bincount(source[against], minlength=len(records))
    covered = np.cumsum(steps) > 0
    before = np.concatenate(([False], covered[:-1]))
    inside = covered | before
    stretch = np.cumsum(~before)  # a row has its stretch in common with the one before it iff that step is covered
    rows = np.flatnonzero(inside & (records.sends | records.polls))
    node = np.full(len(records), -1, dtype=np.int64)
    node[rows] = np.arange(len(rows))

    def within(edges: Edges) -> Edges:
        same = inside[edges.source] & inside[edges.target] & (stretch[edges.source] == stretch[edges.target])
        return Edges(node[edges.source[same]], node[edges.target[same]], edges.key[same])

    return Graph(records, rows, within(ww), within(wr))


def _chain(graph: Graph) -> Arrows:
    """Real time as edges over one more node per row: the point at which that row completed.

    A record leads to its own point if it is ok; a point leads to the next one; the last point before an
    invocation leads to the record invoked.
    """
    records, rows, size = graph.records, graph.rows, len(graph.rows)
    points = np.arange(size, 2 * size)
    ok = np.flatnonzero((records.type[rows] == Type.OK) & ~records.open[rows])
    invoke = records.invoke[rows]
    before = np.searchsorted(rows, invoke) - 1
    begun = np.flatnonzero((before >= 0) & (invoke != NEVER))
    return Arrows(
        np.concatenate((ok, points[:-1], points[before[begun]])),
        np.concatenate((points[ok], points[1:], begun)),
    )


def _kinds(*, ww: bool, wr: bool, realtime: bool) -> tuple[str, ...]:
    """The names of a part's cycles. Which of ww alone, ww with wr, and ww with real time hold a cycle."""
    if ww:
        return ("G0", "PL-1-cycle-exists")
    late = ("G0-realtime", "strong-PL-1-cycle-exists") if realtime else ()
    if wr:
        return ("G1c", "PL-2-cycle-exists", *late)
    return late or ("G1c-realtime", "strong-PL-2-cycle-exists")


def parts(graph: Graph) -> list[Part]:
    """The strongly connected parts of the whole graph, by their first record, and the kinds of cycles of each."""
    size = len(graph.rows)
    chain, ww, wr = _chain(graph), Arrows(graph.ww.source, graph.ww.target), Arrows(graph.wr.source, graph.wr.target)
    label, cyclic = components(2 * size, size, join_arrows(ww, wr, chain))
    if not cyclic.any():
        return []
    by_ww = components(size, size, ww).cyclic
    by_both = components(size, size, join_arrows(ww, wr)).cyclic
    by_time = components(2 * size, size, join_arrows(ww, chain)).cyclic
    nodes = np.flatnonzero(cyclic)
    order = nodes[np.argsort(label[nodes], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    groups.sort(key=lambda group: int(group[0]))
    return [
        Part(
            graph.rows[group],
            _kinds(ww=bool(by_ww[group].any()), wr=bool(by_both[group].any()), realtime=bool(by_time[group].any())),
        )
        for group in groups
    ]
