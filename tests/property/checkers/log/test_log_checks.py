"""What the model makes is valid; every mutation is found and called by its name."""

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import judged
from log_model import MUTATIONS, model, silence_a_replica, without

from chaos.core.verdict import UNKNOWN
from chaos.testing.history_files import differences

SEEDS = st.integers(min_value=0, max_value=1 << 32)
SLOW = settings(max_examples=20)


@given(SEEDS)
@settings(SLOW, max_examples=50)
def test_a_correct_log_is_valid(seed):
    results = judged(model(seed))
    assert results.valid is True, (results.sentence, dict(results.anomalies))
    assert not results.anomalies
    assert all(row.valid is True for row in results.checks)


@given(SEEDS)
@settings(SLOW, max_examples=50)
def test_what_retention_removes_is_never_lost(seed):
    literal = model(seed, retention=True)
    results = judged(literal)
    assert not differences(results, literal.expect)


@given(SEEDS)
@SLOW
def test_what_was_passed_over_before_retention_is_lost(seed):
    """A read that covers an acknowledged message that is still there, and leaves it out everywhere."""
    rng, literal = random.Random(seed), model(seed, retention=True)
    there = [op for op in literal.ops if op.ok is not None and op.ok >= literal.drain.min[op.to]]
    assume(there)
    gone = rng.choice(there)
    results = judged(without(literal, gone))
    assert "lost-write" in results.anomalies, dict(results.anomalies)
    assert results.anomalies["lost-write"].count == 1


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@given(seed=SEEDS)
@settings(SLOW)
def test_a_mutation_is_found(mutation, seed):
    mutated = mutation(random.Random(seed), model(seed))
    assume(mutated is not None)
    literal, name = mutated
    results = judged(literal)
    assert name in results.anomalies, (name, dict(results.anomalies), results.sentence)
    assert not results.anomalies[name].allowed
    assert results.valid == (UNKNOWN if name == "drain-incomplete" else False)
    assert results.sentence != "Invalid."


@given(SEEDS)
@SLOW
def test_a_replica_that_was_not_read_is_never_taken_for_an_equal_one(seed):
    results = judged(silence_a_replica(random.Random(seed), model(seed)))
    assert (results.valid, dict(results.anomalies)) == (UNKNOWN, {})
    assert "not looked at: queue" in results.reason
