"""The Kafka checker: valid by construction is valid, every mutation is found, and the brute force agrees."""

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kafka_brute import brute
from kafka_histories import anything, promised
from kafka_literals import columns
from kafka_mutations import MUTATIONS

from checkers.kafka.check import check
from checkers.kafka.explain import sentence
from checkers.kafka.minimise import minimise
from checkers.kafka.names import CYCLES

SEEDS = st.integers(0, 2**32)


def listed(body):
    return [listed(one) for one in body] if isinstance(body, (list, tuple)) else body


def seen(records, *, ww_deps):
    """What the checker found, in the words of the brute force."""
    found = {}
    for name, one in check(columns(records), ww_deps=ww_deps, keep=None).anomalies.items():
        bodies = [listed(case.body) for case in one.cases]
        if name == "nonlinearizable-offset":
            bodies = [[key, low[0]] for key, low, _, _ in bodies]
        elif name == "stale-tail":
            bodies = [[key, ops[1]] for key, _, _, ops in bodies]
        counted = name in CYCLES or name == "empty-transaction-graph"
        found[name] = one.count if counted else sorted(bodies, key=repr)
        assert counted or len(bodies) == one.count
    return unnamed(found)


def unnamed(found):
    """The kinds of circles by what they hold: the reference's explanation may name one of sends and time otherwise."""
    kinds = {"G1c": "PL-2-cycle-exists", "G1c-realtime": "strong-PL-2-cycle-exists"}
    for name, level in kinds.items():
        if name in found:
            renamed = found[name] - found.get(level, 0)
            found |= {name: found[name] - renamed, "G0-realtime": found.get("G0-realtime", 0) + renamed}
    return {name: what for name, what in found.items() if what}


def agree(rng, histories):
    names = set()
    for _ in range(histories):
        records = promised(rng, finish=False) if rng.random() < 0.2 else anything(rng)
        for ww_deps in (False, True):
            truth = brute(records, ww_deps=ww_deps)
            assert seen(records, ww_deps=ww_deps) == truth, records
            names |= set(truth)
    return names


@pytest.mark.parametrize("seed", range(2))
def test_agrees_with_the_brute_force(seed):
    names = agree(random.Random(seed), 100)
    assert {"lost-write", "G1a", "G1c", "G1c-realtime", "poll-skip", "nonlinearizable-offset"} <= names


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(16))
def test_agrees_with_the_brute_force_on_many(seed):
    assert len(agree(random.Random(1000 + seed), 1000)) >= 24


@given(SEEDS)
@settings(max_examples=60)
def test_valid_by_construction_is_valid(seed):
    verdict = check(columns(promised(random.Random(seed))), ww_deps=True, strict=True)
    assert (verdict.valid, verdict.anomalies) == (True, {})


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@given(SEEDS)
@settings(max_examples=15)
def test_every_mutation_is_found_and_named(mutation, seed):
    rng = random.Random(seed)
    records = promised(rng, most=40)
    assume(mutation(records, rng))
    verdict = check(columns(records), strict=True)
    assert verdict.valid is False
    assert MUTATIONS[mutation] in verdict.anomalies


@given(SEEDS)
@settings(max_examples=20)
def test_the_smallest_history_is_smallest_and_judged_to_show_it(seed):
    records = anything(random.Random(seed))
    history = columns(records)
    for name, one in check(history, ww_deps=True, strict=True).anomalies.items():
        for case in one.cases[:1]:
            small = minimise(history, name, case, ww_deps=True)
            again = check(small, ww_deps=True, strict=True)
            assert name in again.anomalies
            assert set(small.ops.index.tolist()) <= {record["index"] for record in records}
            assert sentence(name, case)
