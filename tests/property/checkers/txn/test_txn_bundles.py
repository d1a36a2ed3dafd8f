"""Anti-dependencies of many on many: what the points of a graph and the pairs one by one say is what bundles are."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from txn_literals import t

from chaos.core.op import Type
from checkers.cycles.shapes import Relation
from checkers.txn import kinds
from checkers.txn.edge_bundles import Bundles, side
from checkers.txn.lists import Lists
from checkers.txn.transactions import columns

SEEDS = st.integers(0, 2**32)
SIZE = 6


def drawn(rng):
    """Bundles of up to six transactions with two micro-operations each, and the pairs that they are."""
    owner = np.repeat(np.arange(SIZE), 2)
    sides = [[(rng.randint(0, 2), rng.randrange(2 * SIZE)) for _ in range(rng.randint(0, 9))] for _ in range(2)]
    sources, targets = (np.array(rows, dtype=np.int64).reshape(-1, 2) for rows in sides)
    pairs = {
        (one, int(owner[a]), int(owner[b]))
        for one, a in sides[0]
        for other, b in sides[1]
        if one == other and owner[a] != owner[b]
    }
    return Bundles(side(sources[:, 0], owner, sources[:, 1]), side(targets[:, 0], owner, targets[:, 1])), pairs


def over_points(bundles):
    """The pairs of transactions with a way from one to the other over points alone."""
    arrows, points = bundles.arrows(SIZE, SIZE)
    after = {node: set() for node in range(SIZE + points)}
    for a, b in zip(arrows.source.tolist(), arrows.target.tolist(), strict=True):
        after[a].add(b)
    found = set()
    for start in range(SIZE):
        todo = list(after[start])
        while todo:
            node = todo.pop()
            if node < SIZE:
                found.add((start, node))
            else:
                todo += after[node]
    return found


def one_by_one(bundles, most=1000):
    pairs, whole = bundles.pairs(most)
    assert (pairs.relation == Relation.RW).all()
    assert (pairs.before // 2 == pairs.source).all()
    assert (pairs.after // 2 == pairs.target).all()
    return set(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)), whole


@settings(deadline=None, max_examples=300)
@given(SEEDS)
def test_points_and_pairs_say_the_same(seed):
    bundles, expected = drawn(random.Random(seed))
    pairs = {(a, b) for _, a, b in expected}
    assert over_points(bundles) == pairs
    assert one_by_one(bundles) == (pairs, True)
    assert bundles.has_pairs() == bool(pairs)


@settings(deadline=None, max_examples=300)
@given(SEEDS)
def test_what_is_within_components_alone_is_left(seed):
    rng = random.Random(seed)
    bundles, expected = drawn(rng)
    label = np.array([rng.randint(0, 2) for _ in range(SIZE)])
    inside = np.array([rng.random() < 0.8 for _ in range(SIZE)])
    pairs = {(a, b) for _, a, b in expected if label[a] == label[b] and inside[a] and inside[b]}
    assert over_points(bundles.within(label, inside)) == pairs
    assert one_by_one(bundles.within(label, inside)) == (pairs, True)


def test_of_too_many_pairs_each_source_keeps_some():
    owner = np.arange(8)
    zeros = np.zeros(4, dtype=np.int64)
    bundles = Bundles(side(zeros, owner, owner[:4]), side(zeros, owner, owner[4:]))
    pairs, whole = bundles.pairs(15)
    assert not whole
    assert sorted(pairs.source.tolist()) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert bundles.pairs(16)[1]


def test_a_cycle_over_pairs_that_are_not_looked_at_is_known_to_exist():
    """Each read sees none of the appends that were over before it began."""
    rows = [*(t(f"ax{i}", 0, 1, i) for i in range(1, 9)), *(t("rx", 2, 3, i) for i in range(1, 9))]
    transactions = columns(rows)
    lists = Lists(transactions)
    history = kinds.History(
        len(transactions),
        lists.dependencies(),
        tuple(Relation),
        transactions.completion,
        lists.bundles(),
        kinds.Spans(transactions.invoke, transactions.complete, transactions.type == Type.OK),
    )
    (few,), (all_,) = (kinds.find_cycles(history, pairs=most).components for most in (10, 64))
    assert (set(few.levels), few.cycles, few.whole) == ({"strong-snapshot-isolation"}, (), False)
    assert ([cycle.kind for cycle in all_.cycles], all_.whole) == (["G-single-item-realtime"], True)
    assert few.members.tolist() == all_.members.tolist() == list(range(16))
