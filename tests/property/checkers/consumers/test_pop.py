"""The check of popped messages: what its model makes is valid, what spoils it is found, and its joins are exact."""

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import judged
from pop_model import MUTATIONS, model

from chaos.core.verdict import UNKNOWN
from checkers.consumers.pop_leases import latest_before

SEEDS = st.integers(min_value=0, max_value=1 << 32)
SLOW = settings(max_examples=15)


@given(SEEDS)
@settings(SLOW, max_examples=40)
def test_a_correct_queue_is_valid(seed):
    results = judged(model(seed))
    assert results.valid is True, (results.sentence, results.reason, dict(results.anomalies))
    assert not results.anomalies


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@given(seed=SEEDS)
@settings(SLOW)
def test_a_mutation_is_found(mutation, seed):
    mutated = mutation(random.Random(seed), model(seed))
    assume(mutated is not None)
    literal, name = mutated
    results = judged(literal)
    assert results.valid == (False if name else UNKNOWN)
    assert not name or name in results.anomalies, (dict(results.anomalies), results.sentence)


ROWS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 9)), max_size=12)


@given(ROWS, ROWS)
@settings(max_examples=300)
def test_the_latest_of_a_group_is_the_one_that_a_loop_finds(rows, asked):
    def column(pairs, at):
        return np.array([pair[at] for pair in pairs], dtype=np.int64)

    found = latest_before(column(rows, 0), column(rows, 1), column(asked, 0), column(asked, 1)).tolist()
    for (group, until), row in zip(asked, found, strict=True):
        times = [time for own, time in rows if own == group and time <= until]
        assert (row >= 0) == bool(times)
        assert row < 0 or (rows[row][0], rows[row][1]) == (group, max(times))
