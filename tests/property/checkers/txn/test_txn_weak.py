"""Read atomic and causal consistency against a search over all orders, and against what `chaos generate` writes."""

import random
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from txn_brute import drawn
from txn_commit_orders import has_commit_order, has_orders_of_processes

from chaos.core.op import Type
from chaos.formats import registry as formats
from chaos.generate.txn import Wish, write
from checkers.imported.transactions_of import of_history
from checkers.txn.judge import Options, judge
from checkers.txn.models import COMMIT_ORDER_CYCLE
from checkers.txn.transactions import NIL, Kind, columns

MODELS = tuple(COMMIT_ORDER_CYCLE)
SEEDS = st.integers(0, 2**32)
MOST = 5


def model_of(*, lists):
    return "list-append" if lists else "rw-register"


def agree(seed, *, lists):
    """Whether each model has an order, and what the judge says."""
    rows = drawn(random.Random(seed), lists=lists, most=MOST)
    told, history = [], columns(rows)
    for model in MODELS:
        possible = has_commit_order(rows, lists=lists, model=model)
        verdict = judge(history, model_of(lists=lists), Options(models=(model,)))
        where = (seed, model, verdict.valid, list(verdict.anomalies), verdict.reason, rows)
        if model != "causal":
            assert possible == (verdict.valid is not False), where
        elif verdict.valid is True:
            assert possible, where
        elif verdict.valid is False:
            assert not possible, where
            assert not has_orders_of_processes(rows, lists=lists), where
        else:
            doubted = "no transaction depends" not in verdict.reason
            assert not (possible and doubted), where
        told.append((model, possible, verdict.valid))
    return told


@settings(deadline=None, max_examples=300)
@given(SEEDS)
@pytest.mark.parametrize("lists", [True, False])
def test_the_judge_says_what_the_search_over_all_orders_says(lists, seed):
    agree(seed, lists=lists)


def test_the_search_meets_histories_of_all_kinds():
    counts = Counter(one for seed in range(400) for one in agree(seed, lists=False))
    for model in MODELS:
        assert counts[model, True, True] > 50
        assert counts[model, False, False] > 50
    assert counts["causal", False, "unknown"] < counts["causal", False, False] / 10


@pytest.mark.longer
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("lists", [True, False])
def test_many_more_histories_against_the_search_over_all_orders(part, lists):
    for seed in range(2000 * part, 2000 * (part + 1)):
        agree(seed, lists=lists)


def generated(seed, *, model="rw-register", ops=300, keys=6, length=4):
    """A history that `chaos generate` writes, as columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.edn"
        write(Wish(model=model, ops=ops, keys=keys, seed=seed, anomalies={}, txn_length=length), path)
        return of_history(formats.read_transactions(path, lists=model == "list-append")).transactions


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**30), st.sampled_from(["rw-register", "list-append"]), st.integers(1, 8), st.integers(1, 6))
def test_what_nobody_spoilt_has_an_order_under_each_model(seed, model, keys, length):
    history = generated(seed, model=model, keys=keys, length=length)
    verdict = judge(history, model, Options(models=MODELS))
    assert (verdict.valid, verdict.anomalies, verdict.beside.keys() & set(COMMIT_ORDER_CYCLE.values())) == (
        True,
        {},
        set(),
    )


def outside_reads(t):
    """Reads by ok transactions of keys that they touched only once."""
    owner = t.owner()
    code = owner * len(t.keys) + t.key
    once = np.isin(code, np.flatnonzero(np.bincount(code) == 1))
    return np.flatnonzero((t.kind == Kind.READ) & t.known & once & (t.type[owner] == Type.OK))


def writers(t):
    """The transaction that wrote each value of a key, and the keys that each one wrote."""
    owner = t.owner().tolist()
    by_value, keys_of = {}, {}
    for at in np.flatnonzero(t.kind == Kind.WRITE).tolist():
        by_value[int(t.key[at]), int(t.value[at])] = owner[at]
        keys_of.setdefault(owner[at], set()).add(int(t.key[at]))
    return by_value, keys_of


def torn(t, rng, *, over):
    """The history with one read that misses a write which its transaction saw; None if there is no such read.

    Args:
        t: a history of registers.
        rng: what chooses.
        over: whether the write was seen over another transaction, and by nobody directly.
    """
    by_value, keys_of = writers(t)
    owner, reads = t.owner().tolist(), outside_reads(t).tolist()
    saw = {}
    for at in reads:
        writer = by_value.get((int(t.key[at]), int(t.value[at])))
        if writer is not None:
            saw.setdefault(owner[at], set()).add(writer)
    rng.shuffle(reads)
    for at in reads:
        one, key = owner[at], int(t.key[at])
        others = {
            by_value.get((int(t.key[other]), int(t.value[other])))
            for other in reads
            if owner[other] == one and other != at
        } - {None, one}
        seen = {far for near in others for far in saw.get(near, ())} - others - {one} if over else others
        if t.value[at] != NIL and any(key in keys_of[other] for other in seen):
            if over and any(key in keys_of[other] for other in others):
                continue
            value = t.value.copy()
            value[at] = NIL
            return msgspec.structs.replace(t, value=value)
    return None


@pytest.mark.parametrize(("over", "broken"), [(False, set(MODELS)), (True, {"causal-cerone", "causal"})])
@pytest.mark.parametrize("seed", range(8))
def test_a_read_that_misses_what_it_had_to_see_is_found(seed, over, broken):
    history = torn(generated(seed), random.Random(seed), over=over)
    assert history is not None
    for model in MODELS:
        verdict = judge(history, "rw-register", Options(models=(model,)))
        if model in broken:
            assert verdict.valid is False
            assert COMMIT_ORDER_CYCLE[model] in verdict.anomalies
            assert verdict.anomalies[COMMIT_ORDER_CYCLE[model]].told[0].steps
        else:
            assert verdict.valid is True
    assert judge(history, "rw-register", Options(models=("read-committed",))).valid is True
