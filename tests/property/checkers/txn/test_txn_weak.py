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
from txn_commit_orders import Contradicts, apart, drawn_by_sight, has_commit_order, has_orders_of_processes

from chaos.core.op import Type
from chaos.formats import registry as formats
from chaos.generate.txn import Wish, write
from checkers.cycles.shapes import Relation
from checkers.imported.transactions_of import of_history
from checkers.txn.dependencies import by_process
from checkers.txn.explain import Explainer
from checkers.txn.judge import Options, judge
from checkers.txn.lists import Lists
from checkers.txn.models import COMMIT_ORDER_CYCLE
from checkers.txn.registers import Registers
from checkers.txn.transactions import NIL, Kind, columns
from checkers.txn.visibility import of_lists, of_registers
from checkers.txn.weak_models import WeakModels
from checkers.txn.words import Words

MODELS = tuple(COMMIT_ORDER_CYCLE)
SEEDS = st.integers(0, 2**32)
MOST = 5
NO_PAIRS = by_process(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_))


def model_of(*, lists):
    return "list-append" if lists else "rw-register"


def possible_under(rows, model, *, lists):
    """Whether there is an order of commits."""
    try:
        return has_commit_order(rows, lists=lists, model=model)
    except Contradicts:
        return False


def agree(rows, *, lists):
    """Whether each model has an order, and what the judge says."""
    told, history = [], columns(rows)
    for model in MODELS:
        possible = possible_under(rows, model, lists=lists)
        verdict = judge(history, model_of(lists=lists), Options(models=(model,)))
        where = (model, verdict.valid, list(verdict.anomalies), verdict.reason, rows)
        if model != "causal":
            assert possible == (verdict.valid is not False), where
        elif verdict.valid != "unknown":
            assert possible == verdict.valid, where
        else:
            assert not possible or "no transaction depends" in verdict.reason, where
        told.append((model, possible, verdict.valid))
    return told


@settings(deadline=None, max_examples=100)
@given(SEEDS, st.sampled_from([drawn, drawn_by_sight]))
@pytest.mark.parametrize("lists", [True, False])
def test_the_judge_says_what_the_search_over_all_orders_says(lists, seed, draw):
    agree(draw(random.Random(seed), lists=lists, most=MOST), lists=lists)


def circles(histories, *, lists):
    """Of each history, under each model, whether steps go round; judged beside each other. And which have odd lists."""
    rows = [one for number, own in enumerate(histories) for one in apart(own, number)]
    t = columns(rows)
    number = t.invoke // 1000
    keys = Lists(t) if lists else Registers(t)
    seen = of_lists(keys) if lists else of_registers(keys)
    explainer = Explainer(Words(t, lists=lists), t.owner(), NO_PAIRS, keys)
    weak = WeakModels(t, seen, keys.dependencies().of(Relation.WW), explainer)
    found = {model: {int(number[one.members[0]]) for one in weak.groups(model)[0]} for model in MODELS}
    odd = {int(number[keys.owner[at]]) for at in np.flatnonzero(keys.odd[t.key])} if lists else set()
    return found, odd


def check_beside_each_other(seeds, *, lists):
    """Many histories against the search over all orders, judged together; how often each answer was given."""
    histories = [(drawn if seed % 2 else drawn_by_sight)(random.Random(seed), lists=lists, most=MOST) for seed in seeds]
    found, odd = circles(histories, lists=lists)
    counts = Counter()
    for number, rows in enumerate(histories):
        for model in MODELS:
            try:
                possible = has_commit_order(rows, lists=lists, model=model)
            except Contradicts:
                continue
            broken = number in found[model]
            assert not (possible and broken), (seeds[number], model, rows)
            if model != "causal":
                assert possible or broken or number in odd, (seeds[number], model, rows)
            elif broken:
                assert not has_orders_of_processes(rows, lists=lists), (seeds[number], rows)
            counts[model, possible, broken] += 1
    return counts


@pytest.mark.parametrize("lists", [True, False])
def test_many_histories_beside_each_other_against_the_search(lists):
    counts = check_beside_each_other(range(1000), lists=lists)
    for model in MODELS:
        assert counts[model, True, False] > 200
        assert counts[model, False, True] > 20
    assert counts["causal", False, True] > counts["causal-cerone", False, True] > counts["read-atomic", False, True]
    assert counts["causal", False, False] < counts["causal", False, True]


@pytest.mark.longer
@pytest.mark.parametrize("part", range(1, 3))
@pytest.mark.parametrize("lists", [True, False])
def test_many_more_histories_against_the_search_over_all_orders(part, lists):
    check_beside_each_other(range(2000 * part, 2000 * (part + 1)), lists=lists)


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
    for at in np.flatnonzero((t.kind == Kind.READ) & t.known).tolist():
        writer = by_value.get((int(t.key[at]), int(t.value[at])))
        if writer is not None and writer != owner[at]:
            saw.setdefault(owner[at], {}).setdefault(writer, set()).add(int(t.key[at]))
    rng.shuffle(reads)
    for at in reads:
        one, key = owner[at], int(t.key[at])
        near = {writer for writer, keys in saw.get(one, {}).items() if keys != {key}}
        far = {other for between in near for other in saw.get(between, ())} - {one}
        wrote = {writer for writer in (far if over else near) if key in keys_of[writer]}
        if t.value[at] != NIL and wrote and not (over and any(key in keys_of[writer] for writer in near)):
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
