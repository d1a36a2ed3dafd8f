"""Counts per step by error and by node."""

import numpy as np

from checkers.recovery.errors_by_node import OTHERS
from checkers.recovery.step_counts import ERRORS, by_node, most_frequent


def test_rare_errors_are_added_up() -> None:
    counts = {f"error {i}": np.array([i + 1, 0]) for i in range(ERRORS + 5)}
    kept = most_frequent(counts)
    assert len(kept) == ERRORS + 1
    assert kept[OTHERS].tolist() == [1 + 2 + 3 + 4 + 5, 0]
    again = most_frequent({**kept, "new": np.array([10**6, 1]), "rare": np.array([1, 1])})
    assert again["new"].tolist() == [10**6, 1]
    assert sum(int(one.sum()) for one in again.values()) == sum(range(1, ERRORS + 6)) + 10**6 + 1 + 2


def test_answers_are_counted_by_node_and_type() -> None:
    nodes, kinds, at = np.array([4, 4, 5, -1, 4]), np.array([2, 3, 2, 4, 2]), np.array([0, 1, 1, 0, 2])
    found = by_node(nodes, kinds, nodes >= 0, at, 3)
    assert {key: row.tolist() for key, row in found.items()} == {
        (4, 2): [1, 0, 1],
        (4, 3): [0, 1, 0],
        (5, 2): [0, 1, 0],
    }
    assert by_node(nodes, kinds, nodes > 9, at, 3) == {}
