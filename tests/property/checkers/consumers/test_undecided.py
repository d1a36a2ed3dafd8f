"""Delayed and transactional messages: what the model makes is valid, every mutation is found by its name."""

import random

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import judged
from undecided_model import MUTATIONS, model, put_it_again

from chaos.core.verdict import UNKNOWN

SEEDS = st.integers(min_value=0, max_value=1 << 32)


@given(SEEDS)
@settings(max_examples=40)
def test_what_nothing_is_wrong_with_is_valid(seed):
    results = judged(model(seed))
    assert results.valid is True, (results.sentence, results.reason, dict(results.anomalies))
    assert not results.anomalies


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@given(seed=SEEDS)
@settings(max_examples=15)
def test_a_mutation_is_found(mutation, seed):
    mutated = mutation(random.Random(seed), model(seed))
    assume(mutated is not None)
    literal, name = mutated
    results = judged(literal)
    assert name in results.anomalies, (name, dict(results.anomalies), results.sentence, results.reason)
    assert results.valid == (UNKNOWN if name == "drain-incomplete" else False)


@given(seed=SEEDS)
@settings(max_examples=15)
def test_a_promise_to_repeat_excuses_it(seed):
    mutated = put_it_again(random.Random(seed), model(seed))
    assume(mutated is not None)
    literal, _ = mutated
    run = msgspec.structs.replace(literal.run, promises={"duplicate": "at least once"}, twice=("schedule", "transact"))
    results = judged(msgspec.structs.replace(literal, run=run))
    assert results.valid is True, (results.sentence, dict(results.anomalies))
    assert results.anomalies["duplicate"].allowed
