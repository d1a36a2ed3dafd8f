"""The search for cycles of a shape against all simple cycles of a small graph."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.cycles.components import Arrows, chain, closest, components, join_arrows
from checkers.cycles.reference_cycle import reference_cycle
from checkers.cycles.shapes import Budget, Relation, shortest, steps_of
from checkers.txn.kinds import KINDS

SEEDS = st.integers(0, 2**32)


def drawn(rng, size):
    """A graph whose pairs have one or several relations."""
    return {a: {b: rng.randint(1, 31) for b in range(size) if b != a and rng.random() < 0.4} for a in range(size)}


def cycles_of(graph):
    """All simple cycles, each from its smallest node."""

    def on(way):
        for node in graph[way[-1]]:
            if node == way[0]:
                yield list(way)
            elif node > way[0] and node not in way:
                yield from on([*way, node])

    for start in graph:
        yield from on([start])


def fits(relations, shape):
    """Whether one relation of each pair of a cycle can be chosen so that they are of a shape."""

    def choose(left, chosen):
        if left:
            return any(choose(left[1:], [*chosen, one]) for one in Relation if one & left[0])
        others = [one for one in chosen if one is not Relation.RW]
        anti = len(chosen) - len(others)
        beside = any(a is b is Relation.RW for a, b in zip(chosen, chosen[1:] + chosen[:1], strict=True))
        counted = {0: anti == 0, 1: anti == 1, 2: anti >= 2 and not beside, 3: anti >= 2}[int(shape.anti)]
        allowed = all(one & shape.allowed for one in others)
        return counted and allowed and all(any(one & need for one in others) for need in shape.required)

    return choose(relations, [])


@settings(deadline=None, max_examples=80)
@given(SEEDS)
def test_the_shortest_cycle_of_each_shape_is_found(seed):
    rng = random.Random(seed)
    graph = drawn(rng, rng.randint(2, 5))
    every = list(cycles_of(graph))
    for shape in KINDS.values():
        lengths = [len(one) for one in every if fits([graph[a][b] for a, b in steps_of(one)], shape)]
        nodes = shortest(graph, shape, Budget(100_000))
        assert len(nodes) == min(lengths, default=0)
        if nodes:
            assert fits([graph[a][b] for a, b in steps_of(nodes)], shape)
        met = reference_cycle(graph, {node: 7 * node for node in graph}, shape, Budget(10_000_000))
        assert bool(met) == bool(lengths)
        assert not met or fits([graph[a][b] for a, b in steps_of(met)], shape)


def test_a_search_without_steps_gives_up():
    ring = {0: {1: 1}, 1: {2: 1}, 2: {0: 1}}
    assert shortest(ring, KINDS["G0"], Budget(100)) == [0, 1, 2]
    assert shortest(ring, KINDS["G0"], Budget(1)) == []


@settings(deadline=None, max_examples=200)
@given(SEEDS)
def test_real_time_as_a_chain_and_as_closest_pairs_means_all_pairs(seed):
    rng = random.Random(seed)
    size = rng.randint(1, 9)
    invoke = np.sort(np.array([rng.randint(0, 20) for _ in range(size)], dtype=np.int64))
    complete = invoke + np.array([rng.randint(0, 8) for _ in range(size)], dtype=np.int64)
    over = np.array([rng.random() < 0.8 for _ in range(size)], dtype=np.bool_)
    pairs = {(a, b) for a in range(size) for b in range(size) if over[a] and complete[a] < invoke[b]}
    arrows, points = chain(invoke, complete, over, size)
    assert reached(arrows, size + points, size) == pairs
    near = closest(invoke, complete, over, np.arange(size))
    assert reached(near, size, size) == pairs
    close = set(zip(near.source.tolist(), near.target.tolist(), strict=True))
    between = {(a, b) for a, b in pairs if any((a, c) in pairs and (c, b) in pairs and over[c] for c in range(size))}
    assert close == pairs - between


def reached(arrows, size, nodes):
    """All pairs of the first nodes that a way leads from one to the other."""
    after = {a: set() for a in range(size)}
    for a, b in zip(arrows.source.tolist(), arrows.target.tolist(), strict=True):
        after[a].add(b)
    found = set()
    for start in range(nodes):
        todo, seen = list(after[start]), set()
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += after[at]
        found |= {(start, node) for node in seen if node < nodes}
    return found


@settings(deadline=None, max_examples=100)
@given(SEEDS)
def test_components_are_what_reaches_itself(seed):
    rng = random.Random(seed)
    size = rng.randint(1, 8)
    pairs = [(a, b) for a in range(size) for b in range(size) if a != b and rng.random() < 0.25]
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    arrows = join_arrows(Arrows(columns[:, 0], columns[:, 1]))
    label, cyclic = components(size, size, arrows)
    both = reached(arrows, size, size)
    assert [bool(one) for one in cyclic] == [(a, a) in both for a in range(size)]
    for a in range(size):
        for b in range(size):
            assert (label[a] == label[b]) == (a == b or ((a, b) in both and (b, a) in both))
