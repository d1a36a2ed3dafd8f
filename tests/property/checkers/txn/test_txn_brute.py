"""The judge against a search for every serial order, and against histories that are right or wrong by design."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from txn_brute import drawn, has_serial_order
from txn_histories import MUTATIONS, REGISTER_MUTATIONS, correct

from checkers.txn.judge import Options, judge
from checkers.txn.transactions import columns

ORDERS = {"serializable": "", "strong-session-serializable": "process", "strict-serializable": "realtime"}
SEEDS = st.integers(0, 2**32)


def model_of(*, lists):
    return "list-append" if lists else "rw-register"


def agree(seed, *, lists):
    """Whether each model has an order, and what the judge says."""
    rows = drawn(random.Random(seed), lists=lists)
    told, history = [], columns(rows)
    for model, order in ORDERS.items():
        possible = has_serial_order(rows, lists=lists, order=order)
        verdict = judge(history, model_of(lists=lists), Options(models=(model,), strict=True))
        assert not (possible and verdict.valid is False), (seed, model, list(verdict.anomalies), rows)
        told.append((possible, verdict.valid))
    return told


@settings(deadline=None, max_examples=250)
@given(SEEDS)
def test_what_the_judge_calls_wrong_of_lists_has_no_order_and_what_has_none_it_finds(seed):
    for possible, valid in agree(seed, lists=True):
        assert possible == (valid is not False)


@settings(deadline=None, max_examples=250)
@given(SEEDS)
def test_what_the_judge_calls_wrong_of_registers_has_no_order(seed):
    agree(seed, lists=False)


def test_the_search_meets_histories_of_all_kinds():
    """And the judge misses few registers, of whose values nobody tells the order."""
    counts = Counter(pair for seed in range(300) for pair in agree(seed, lists=False))
    assert counts[False, False] > 10 * counts[False, True]
    assert counts[True, True] > 100


@pytest.mark.longer
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("lists", [True, False])
def test_many_more_histories_against_the_search(part, lists):
    for seed in range(2500 * part, 2500 * (part + 1)):
        for possible, valid in agree(seed, lists=lists):
            assert not lists or possible == (valid is not False)


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.booleans())
def test_a_correct_history_is_valid_whatever_is_assumed_of_its_keys(seed, lists):
    rows = correct(random.Random(seed), lists=lists)
    keys = {} if lists else {"sequential_keys": True, "linearizable_keys": True, "wfr_keys": True}
    verdict = judge(columns(rows), model_of(lists=lists), Options(strict=True, **keys))
    assert (verdict.valid, verdict.anomalies, verdict.beside) == (True, {}, {})


EACH_MUTATION = [("list-append", name, change) for name, change in MUTATIONS.items()] + [
    ("rw-register", name, change) for name, change in REGISTER_MUTATIONS.items()
]


@settings(deadline=None, max_examples=12)
@given(SEEDS)
@pytest.mark.parametrize(("model", "name", "change"), EACH_MUTATION)
def test_each_mutation_is_found_under_its_name(model, name, change, seed):
    rows = change(correct(random.Random(seed), lists=model == "list-append"))
    verdict = judge(columns(rows), model, Options())
    assert verdict.valid is False
    assert name in verdict.anomalies


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.booleans())
def test_transactions_that_are_left_out_of_a_correct_history_leave_columns_that_fit(seed, lists):
    rng = random.Random(seed)
    rows = sorted(correct(rng, lists=lists), key=lambda one: one.invoke)
    chosen = [rng.random() < 0.7 for _ in rows]
    by_mask = columns(rows).only(np.array(chosen, dtype=np.bool_))
    alone = columns([row for row, kept in zip(rows, chosen, strict=True) if kept])
    words = [
        [
            (int(t.kind[j]), t.keys[t.key[j]], t.shown(int(t.value[j])), [t.shown(one) for one in t.read_of(j)])
            for j in range(len(t.kind))
        ]
        for t in (by_mask, alone)
    ]
    assert words[0] == words[1]
    assert by_mask.first.tolist() == alone.first.tolist()
