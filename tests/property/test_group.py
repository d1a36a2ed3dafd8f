"""The check of consumer groups: what its model makes is valid, what spoils it is found, and its scan is exact."""

import itertools
import random

import numpy as np
import pytest
from group_model import MUTATIONS, model
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import judged

from chaos.core.history import NEVER_NS
from chaos.core.op import F, Type
from chaos.core.verdict import UNKNOWN
from checkers.group import stale_reads
from checkers.log import Log

SEEDS = st.integers(min_value=0, max_value=1 << 32)
SLOW = settings(max_examples=15)


@given(SEEDS)
@settings(SLOW, max_examples=40)
def test_a_correct_group_is_valid(seed):
    results = judged(model(seed))
    assert results.valid is True, (results.sentence, dict(results.anomalies))
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


# ---------------------------------------------------------------- the scan against its definition

TYPES = st.sampled_from([Type.OK, Type.OK, Type.OK, Type.INFO, Type.FAIL])
TIMES = st.tuples(st.integers(0, 12), st.integers(0, 5))
COMMITS = st.lists(st.tuples(TIMES, TYPES, st.integers(0, 2)), max_size=5)
READS = st.lists(st.tuples(TIMES, st.just(Type.OK), st.integers(-1, 3)), min_size=1, max_size=4)


def log_of(commits, reads):
    rows = [(F.COMMIT, *commit) for commit in commits] + [(F.COMMITTED_READ, *read) for read in reads]
    rows.sort(key=lambda row: row[1][0])
    column = {
        "f": [f for f, *_ in rows],
        "type": [kind for _, _, kind, _ in rows],
        "invoke_ns": [begin for _, (begin, _), *_ in rows],
        "complete_ns": [begin + took for _, (begin, took), *_ in rows],
        "offset": [value if f is F.COMMIT else -1 for f, _, _, value in rows],
        "next_offset": [value if f is F.COMMITTED_READ else -1 for f, _, _, value in rows],
    }
    numbers = ("node", "min_offset", "max_offset", "deadline_ns", "worker", "op", "writer", "sequence", "argument")
    operations = {name: np.array(values, dtype=np.int64) for name, values in column.items()}
    operations |= {name: np.arange(len(rows), dtype=np.int64) for name in numbers}
    names = ("worker", "op", "f", "offset", "writer", "sequence")
    return Log(operations, {name: np.zeros(0, dtype=np.int64) for name in names}), rows


def by_definition(rows, read):
    """Whether no write of the answer can be its source, pair by pair as the rule says it."""
    (begin, took), _, answer = read
    writes = [(-2, -1)] if answer < 0 else []
    for f, (invoke, length), kind, value in rows:
        if f is F.COMMIT and value == answer and kind in (Type.OK, Type.INFO) and invoke <= begin + took:
            writes.append((invoke, invoke + length if kind is Type.OK else NEVER_NS))

    def overwritten(end):
        return any(
            f is F.COMMIT and kind is Type.OK and end < invoke and invoke + length < begin
            for f, (invoke, length), kind, _ in rows
        )

    return all(overwritten(end) for _, end in writes)


def searched(rows, read):
    """Whether no order of the operations explains the one read: every order, every choice of info commits."""
    (begin, took), _, answer = read
    ops = [
        (invoke, invoke + length if kind is Type.OK else NEVER_NS, value, kind is Type.INFO)
        for f, (invoke, length), kind, value in rows
        if f is F.COMMIT and kind is not Type.FAIL
    ]
    me = (begin, begin + took, answer, None)
    for order in itertools.permutations([*ops, me]):
        if any(b[1] < a[0] for i, a in enumerate(order) for b in order[i + 1 :]):
            continue
        before = order[: order.index(me)]
        sources = {-1}
        for _, _, value, maybe in before:
            sources = sources | {value} if maybe else {value}
        if answer in sources:
            return False
    return True


@given(COMMITS, READS)
@settings(max_examples=600)
def test_the_scan_finds_what_the_rule_says(commits, reads):
    log, rows = log_of(commits, reads)
    found = set(stale_reads(log, whole=True).reads.tolist())
    expected = {
        i for i, (f, *read) in enumerate(rows) if f is F.COMMITTED_READ and by_definition(rows, read)
    }  # fmt: skip
    assert found == expected


@given(COMMITS, READS)
@settings(max_examples=150)
def test_of_a_single_read_it_is_exact(commits, reads):
    log, rows = log_of(commits, reads[:1])
    read = next(tuple(rest) for f, *rest in rows if f is F.COMMITTED_READ)
    assert bool(len(stale_reads(log, whole=True).reads)) == searched(rows, read)


@given(COMMITS, READS)
@settings(max_examples=100)
def test_witnesses_show_it(commits, reads):
    log, _ = log_of(commits, reads)
    found = stale_reads(log, whole=True)
    for read, hiding, writer in zip(*(column.tolist() for column in found), strict=True):
        if hiding >= 0:
            assert log.complete[hiding] < log.invoke[read]
        if writer >= 0:
            assert log.offset[writer] == log.next[read]
            assert log.complete[writer] < log.invoke[hiding]
