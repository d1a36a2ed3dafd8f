"""The cycle of a shape that the reference checker meets first, which gives a component's cycle its name.

Several cycles of one shape may be explained by different relations, and the reference explains the one that it meets
first. So where names are to agree its walk is followed: all ways from a node, one step after the other, over the nodes
in the order of their hashes; a way that comes back to itself elsewhere is searched for a cycle alone.

Source: ``elle.bfs`` of Elle 0.2.8. The number of ways may grow without bound, so steps are counted.
"""

from collections.abc import Mapping, Sequence

from checkers.cycles.hash_order import as_mapped
from checkers.cycles.shapes import Automaton, Budget, Graph, Shape, State, is_whole, ways_on


class OutOfStepsError(Exception):
    """The walk has taken as many steps as it may."""


def reference_cycle(graph: Graph, index: Mapping[int, int], shape: Shape, budget: Budget) -> list[int]:
    """The nodes of the cycle that is met first, the first of them not repeated; empty if there is none.

    Args:
        graph: of pairs that the shape may use.
        index: of each node the index of the record that is hashed.
        shape: what the cycle is made of.
        budget: steps that are left.

    Raises:
        OutOfStepsError: there were not enough.
    """
    automaton, ordered = Automaton(shape), _ordered(graph, index)
    return next(filter(None, (_from(start, ordered, index, automaton, budget) for start in ordered)), [])


def _ordered(graph: Graph, index: Mapping[int, int]) -> Graph:
    """The same graph, its nodes and what follows each in the order of hashes."""
    nodes = {node for a, after in graph.items() if after for node in (a, *after)}
    return {a: {b: graph[a][b] for b in _sorted(graph.get(a, ()), index)} for a in _sorted(nodes, index)}


def _sorted(nodes: Sequence[int] | set[int] | Mapping[int, int], index: Mapping[int, int]) -> list[int]:
    return as_mapped({index[node]: node for node in nodes})


def _from(start: int, graph: Graph, index: Mapping[int, int], automaton: Automaton, budget: Budget) -> list[int]:
    ways: list[tuple[tuple[int, ...], State | None]] = [((start,), None)]
    while ways:
        going = []
        for nodes, state in ways:
            if nodes[-1] not in nodes[:-1]:
                going.append((nodes, state))
            elif state is not None and is_whole(state):
                found = _ring(nodes, graph, index, automaton, budget)
                if found:
                    return found
        ways = [
            ((*nodes, node), following)
            for nodes, state in going
            for node, following in ways_on(graph, automaton, nodes[-1], state)
        ]
        if not budget.take(len(ways) + 1):
            raise OutOfStepsError
    return []


def _ring(
    nodes: tuple[int, ...], graph: Graph, index: Mapping[int, int], automaton: Automaton, budget: Budget
) -> list[int]:
    """A way that came back to itself: a cycle, or a ring that is searched for one."""
    if nodes[0] == nodes[-1]:
        return list(nodes[:-1])
    ring = nodes[nodes.index(nodes[-1]) :]
    inside = set(ring)
    own = _ordered({a: {b: graph[a][b] for b in graph[a] if b in inside} for a in inside}, index)
    return next(filter(None, (_from(one, own, index, automaton, budget) for one in ring if one in own)), [])
