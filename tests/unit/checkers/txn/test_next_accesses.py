"""Next touches of a key in real time, against a search through the graph of all transactions."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from chaos.formats.operations import NEVER
from checkers.txn.next_accesses import next_accesses


class Made:
    """A history: when each transaction began and was over, whether it is known to be over, and may have happened."""

    def __init__(self, seed: int) -> None:
        draws = random.Random(seed)
        step = draws.choice((1, 10))
        free = [0] * draws.randrange(1, 8)
        rows = []
        for _ in range(draws.randrange(0, 35)):
            process = draws.randrange(len(free))
            began = free[process] + step * draws.randrange(1, 6) + draws.randrange(step)
            free[process] = began + step * draws.randrange(1, 60 if draws.random() < 0.05 else 12)
            ended = draws.choice(("ok",) * 8 + ("info", "fail"))
            keys = {draws.randrange(5) for _ in range(draws.randrange(4))}
            rows.append((began, free[process] if ended != "info" else NEVER, ended, sorted(keys)))
        rows.sort(key=lambda row: row[0])
        self.invoke = np.array([row[0] for row in rows], dtype=np.int64)
        self.complete = np.array([row[1] for row in rows], dtype=np.int64)
        self.over = np.array([row[2] == "ok" for row in rows], dtype=np.bool_)
        self.happened = np.array([row[2] != "fail" for row in rows], dtype=np.bool_)
        self.transaction = np.array([at for at, row in enumerate(rows) for _ in row[3]], dtype=np.int64)
        self.key = np.array([key for row in rows for key in row[3]], dtype=np.int64)

    def next_accesses(self) -> list[tuple[int, int]]:
        columns = (self.invoke, self.complete, self.over, self.happened, self.transaction, self.key)
        return sorted(zip(*(column.tolist() for column in next_accesses(*columns)), strict=True))

    def follows(self, a: int, b: int) -> bool:
        """Whether b began when a was over, and nothing began and was over between the two."""
        if not (self.over[a] and self.complete[a] < self.invoke[b]):
            return False
        between = self.over & (self.invoke > self.complete[a]) & (self.complete < self.invoke[b])
        return not between.any()

    def searched(self) -> Iterator[tuple[int, int]]:
        after = [[b for b in range(len(self.over)) if self.follows(a, b)] for a in range(len(self.over))]
        for row, (one, key) in enumerate(zip(self.transaction.tolist(), self.key.tolist(), strict=True)):
            own = {int(self.transaction[at]): at for at in np.flatnonzero(self.key == key).tolist()}
            own = {other: at for other, at in own.items() if self.happened[other]}
            seen, open_ = {one}, [one] if one in own else []
            while open_:
                for other in after[open_.pop()]:
                    if other in own:
                        yield row, own[other]
                    elif other not in seen:
                        seen.add(other)
                        open_.append(other)


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_the_pairs_are_those_that_a_search_finds(first):
    found = 0
    for seed in range(first, first + 100):
        made = Made(seed)
        pairs = made.next_accesses()
        assert pairs == sorted(set(made.searched())), seed
        found += len(pairs)
    assert found > 1000


def test_a_touch_beside_which_nothing_else_was_over_hides_those_before_it():
    """Three transactions one after the other on one key: the first leads to the second, and not to the third."""
    row = np.arange(3)
    every = np.ones(3, dtype=np.bool_)
    pairs = next_accesses(row * 10, row * 10 + 5, every, every, row, np.zeros(3, dtype=np.int64))
    assert list(zip(*(column.tolist() for column in pairs), strict=True)) == [(0, 1), (1, 2)]


def test_a_transaction_of_other_keys_leads_around_a_touch():
    """The same, with one beside the second that begins when the first is over and is over before the third begins."""
    invoke, complete = np.array([0, 6, 10, 20]), np.array([5, 18, 15, 25])
    every = np.ones(4, dtype=np.bool_)
    pairs = next_accesses(invoke, complete, every, every, np.array([0, 2, 3]), np.zeros(3, dtype=np.int64))
    assert sorted(zip(*(column.tolist() for column in pairs), strict=True)) == [(0, 1), (0, 2), (1, 2)]
