"""A short cycle through a strongly connected part, as the edges that make it up.

A breadth-first search from records that an edge against real time leads to; real-time order is transitive, so one step
of it goes to every record that began later. When the budget is spent, the shortest cycle found so far is the answer.
"""

from collections import deque
from typing import Final

import numpy as np

from chaos.core.op import Type
from checkers.history.columns import Ints
from checkers.kafka.cycle_search import Graph, Part, Step
from checkers.kafka.rows import NEVER

STEPS: Final = 300_000
"""Edges that one search follows at most."""


_LEAST: Final = 2


class _Search:
    """The edges of one part that a kind of cycle may use."""

    def __init__(self, graph: Graph, part: Part, kinds: tuple[str, ...]) -> None:
        self.members = part.members
        records = graph.records
        nodes = np.searchsorted(graph.rows, part.members)
        inside = np.full(len(graph.rows), -1, dtype=np.int64)
        inside[nodes] = np.arange(len(nodes))
        self.after: dict[int, list[tuple[int, str, int]]] = {}
        self.starts: list[int] = []
        for why, edges in (("ww", graph.ww), ("wr", graph.wr)):
            if why not in kinds:
                continue
            source, target = inside[edges.source], inside[edges.target]
            mine = np.flatnonzero((source >= 0) & (target >= 0))
            for a, b, key in zip(source[mine].tolist(), target[mine].tolist(), edges.key[mine].tolist(), strict=True):
                self.after.setdefault(a, []).append((b, why, key))
                if a > b:
                    self.starts.append(b)
        self.by_time = "realtime" in kinds
        invoke = records.invoke[part.members]
        self.invoke = np.where(invoke == NEVER, -1, invoke)
        self.order: Ints = np.argsort(self.invoke, kind="stable")
        self.begun = self.invoke[self.order]
        self.ok = (records.type[part.members] == Type.OK).tolist()
        self.left = STEPS

    def shortest(self) -> list[Step]:
        best: list[Step] = []
        for start in dict.fromkeys(self.starts):
            found = self._from(start, len(best) - 1 if best else len(self.members))
            best = found or best
            if self.left <= 0 or len(best) == _LEAST:
                break
        return best

    def _from(self, start: int, most: int) -> list[Step]:
        """The shortest cycle through a record, if it has at most ``most`` edges."""
        came: dict[int, tuple[int, str, int]] = {}
        depth, todo = {start: 0}, deque([start])
        later = len(self.order)  # records from here on in the order of invocations were reached by real time
        while todo and self.left > 0:
            at = todo.popleft()
            if depth[at] >= most:
                return []
            steps = list(self.after.get(at, ()))
            if self.by_time and self.ok[at]:
                first = int(np.searchsorted(self.begun, self.members[at], side="right"))
                steps += [(int(b), "realtime", -1) for b in self.order[first:later]]
                if start in depth and self.invoke[start] > self.members[at]:
                    steps.append((start, "realtime", -1))
                later = min(later, first)
            self.left -= len(steps) + 1
            for b, why, key in steps:
                if b == start:
                    return self._walked(came, start, (at, why, key))
                if b not in depth:
                    depth[b], came[b] = depth[at] + 1, (at, why, key)
                    todo.append(b)
        return []

    def _walked(self, came: dict[int, tuple[int, str, int]], start: int, last: tuple[int, str, int]) -> list[Step]:
        out, target, edge = [], start, last
        while True:
            at, why, key = edge
            out.append(Step(int(self.members[at]), int(self.members[target]), why, key))
            if at == start:
                return out[::-1]
            target, edge = at, came[at]


_USES: Final = {
    "G0": ("ww",),
    "G1c": ("ww", "wr"),
    "G0-realtime": ("ww", "realtime"),
    "G1c-realtime": ("ww", "wr", "realtime"),
}


def cycle(graph: Graph, part: Part, name: str) -> list[Step]:
    """A short cycle of a kind that the part holds, beginning anywhere; empty if the budget did not suffice.

    Args:
        graph: where the part is from.
        part: one of ``parts(graph)``.
        name: one of its kinds that is not a ``-cycle-exists``.
    """
    return _Search(graph, part, _USES[name]).shortest()
