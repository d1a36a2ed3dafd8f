"""Cycles of a shape in a small graph: of which relations the steps are, and how many anti-dependencies there are.

A shape is an automaton that reads the steps of a cycle. The search goes over pairs of a node and a state of it, one
step of all ways after the other, from each node that a cycle of the shape can begin at, so the cycle it gives is a
shortest one; so does the reference checker (``elle.bfs`` of Elle 0.2.8), which walks over paths. Where the shortest
closed way meets a node twice it is no cycle, and simple paths are searched instead. All steps of all searches are
counted; a search that runs out of them gives the shortest cycle found so far.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag
from itertools import pairwise
from typing import Final, NamedTuple

_SHORTEST: Final = 2


class Relation(IntFlag):
    """Why one node comes before another."""

    WW = 1
    WR = 2
    RW = 4
    PROCESS = 8
    REALTIME = 16

    @property
    def word(self) -> str:
        """The word used in reports."""
        return (self.name or "").lower()


class Anti(IntEnum):
    """How many anti-dependencies (rw) a cycle has: none, one, several with something else between them, several."""

    NONE = 0
    ONE = 1
    APART = 2
    SEVERAL = 3


class Shape(NamedTuple):
    """What a cycle is made of: steps of the relations ``allowed``, one of each of ``required``, and rw as ``anti``.

    An rw that is among the allowed is a step like any other.
    """

    allowed: int
    required: tuple[int, ...] = ()
    anti: Anti = Anti.NONE

    @property
    def all(self) -> int:
        """All relations that a step can be of."""
        return self.allowed | (Relation.RW if self.anti else 0)


class Budget:
    """Steps that are left for all searches."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def take(self, steps: int) -> bool:
        """Whether there are any left behind these."""
        self.left -= steps
        return self.left > 0


Graph = Mapping[int, Mapping[int, int]]
"""Of each node the nodes that follow it, with the relations of the pair."""


class State(NamedTuple):
    """How far a cycle is.

    ``required``: what it still needs a step of; ``wanted``: how many rw it still needs. ``free``: whether the next step
    may be an rw. ``last``: whether the step before was an rw that no other may follow.
    """

    required: tuple[int, ...]
    wanted: int
    free: bool
    last: bool


def _start(shape: Shape) -> State:
    return State(shape.required, min(int(shape.anti), _SHORTEST), shape.anti is not Anti.NONE, last=False)


def is_whole(state: State) -> bool:
    """Whether a way that is closed now is a cycle of the shape."""
    return not state.required and state.wanted <= 0 and not state.last


def _without(required: tuple[int, ...], relation: int) -> tuple[int, ...]:
    """What is still required behind a step; a step meets one requirement."""
    for position, one in enumerate(required):
        if one & relation:
            return (*required[:position], *required[position + 1 :])
    return required


def _taken(shape: Shape, state: State, relation: int) -> State | None:
    """The state behind a step of one relation; None if it cannot be taken."""
    required = _without(state.required, relation)
    if relation & shape.allowed or relation != Relation.RW:
        if not relation & shape.allowed:
            return None
        return State(required, state.wanted, free=shape.anti is not Anti.ONE or state.wanted > 0, last=False)
    if shape.anti is Anti.NONE or not state.free:
        return None
    wanted = max(state.wanted - 1, 0)
    apart = shape.anti is Anti.APART
    return State(required, wanted, free=shape.anti is Anti.SEVERAL, last=apart)


class Automaton:
    """A shape, with its transitions as they are met."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.start = _start(shape)
        self._next: dict[tuple[State, int], tuple[State, ...]] = {}

    def after(self, state: State, relations: int) -> tuple[State, ...]:
        """The states that a pair of these relations can lead to: by an rw, by what is required, by anything else."""
        found = self._next.get((state, relations))
        if found is None:
            needed = {one for one in Relation if any(one & each for each in state.required)}
            order = (Relation.RW, *sorted(needed), *Relation)
            states = (_taken(self.shape, state, one) for one in order if one & relations)
            found = self._next[state, relations] = tuple(dict.fromkeys(one for one in states if one is not None))
        return found

    def begins(self, relations: int) -> int:
        """Those of a pair's relations that the first step of a cycle may be: an rw, else what is required, else any."""
        if self.shape.anti:
            return relations & Relation.RW
        wanted = 0
        for one in self.shape.required:
            wanted |= one
        return relations & (wanted or self.shape.all)


def shortest(graph: Graph, shape: Shape, budget: Budget) -> list[int]:
    """The nodes of a shortest cycle of a shape, the first of them not repeated; empty if there is none."""
    automaton = Automaton(shape)
    best: list[int] = []
    for start, following in graph.items():
        if not any(automaton.begins(relations) for relations in following.values()):
            continue
        most = len(best) - 1 if best else len(graph)
        way = _closed_way(graph, automaton, start, most, budget)
        if len(set(way)) < len(way):
            way = _simple_way(graph, automaton, start, most, budget)
        best = way or best
        if len(best) == _SHORTEST or budget.left <= 0:
            break
    return best


def ways_on(graph: Graph, automaton: Automaton, at: int, state: State | None) -> Iterator[tuple[int, State]]:
    """Where a way goes on, and in which state. ``state``: None at its beginning."""
    for node, relations in graph.get(at, {}).items():
        own = relations if state is not None else automaton.begins(relations)
        for following in automaton.after(automaton.start if state is None else state, own):
            yield node, following


def _closed_way(graph: Graph, automaton: Automaton, start: int, most: int, budget: Budget) -> list[int]:
    """A shortest closed way from a node with at most ``most`` steps; it may meet other nodes twice."""
    came: dict[tuple[int, State], tuple[int, State] | None] = {}
    todo: deque[tuple[int, State | None, int]] = deque([(start, None, 0)])
    while todo:
        at, state, depth = todo.popleft()
        if depth >= most or not budget.take(len(graph.get(at, ()))):
            return []
        here = None if state is None else (at, state)
        for node, following in ways_on(graph, automaton, at, state):
            if node == start:
                if is_whole(following):
                    return _walked(came, here, start)
            elif (node, following) not in came:
                came[node, following] = here
                todo.append((node, following, depth + 1))
    return []


def _walked(
    came: Mapping[tuple[int, State], tuple[int, State] | None], last: tuple[int, State] | None, start: int
) -> list[int]:
    found = []
    while last is not None:
        found.append(last[0])
        last = came[last]
    return [start, *reversed(found)]


def _simple_way(graph: Graph, automaton: Automaton, start: int, most: int, budget: Budget) -> list[int]:
    """A shortest closed way that meets no node twice."""
    ways: list[tuple[tuple[int, ...], State | None]] = [((start,), None)]
    for _ in range(most):
        longer: list[tuple[tuple[int, ...], State | None]] = []
        for nodes, state in ways:
            if not budget.take(len(graph.get(nodes[-1], ()))):
                return []
            for node, following in ways_on(graph, automaton, nodes[-1], state):
                if node == start and is_whole(following):
                    return list(nodes)
                if node not in nodes:
                    longer.append(((*nodes, node), following))
        ways = longer
    return []


def steps_of(cycle: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of a cycle, the last of them back to its first node."""
    return list(pairwise([*cycle, cycle[0]])) if cycle else []
