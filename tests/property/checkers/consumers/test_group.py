"""The check of consumer groups: what its model makes is valid, what spoils it is found, and its scan is exact."""

import itertools
import random

import msgspec
import numpy as np
import pytest
from group_model import MUTATIONS, model
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import judged

from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS, StreamFacts
from chaos.testing.history_files import DrainLiteral, Expected, HistoryLiteral, OpLiteral, Range, Sends
from checkers.consumers import commit_register
from checkers.consumers.lost_commits import lost_commits
from checkers.history.log import Log

AT_ONCE = HistoryLiteral(
    name="at-once",
    rules=(20,),
    about="Two commits at once, of which the earlier to begin is answered.",
    ops=(
        OpLiteral(sends=Sends(start=1.0, count=3, every_s=0.1, offset=0)),
        OpLiteral(at=(2.0, 2.1), client=1, poll=Range(begin=0, got="0=0:0 1=0:1 2=0:2")),
        OpLiteral(at=(2.2, 2.5), client=1, commit=2),
        OpLiteral(at=(2.3, 2.4), client=2, commit=3),
        OpLiteral(at=(2.6, 2.7), client=1, committed_read=2),
    ),
    expect=Expected(valid=True),
    drain=DrainLiteral(committed={0: 2}),
)


def test_a_search_that_is_given_up_is_unknown_and_never_wrong(monkeypatch):
    assert judged(AT_ONCE).valid is True
    monkeypatch.setattr(commit_register, "WORK", 0)
    results = judged(AT_ONCE)
    assert results.valid == UNKNOWN
    (row,) = [row for row in results.checks if row.name == "group"]
    assert row.reason == "the order of commits and answers in queue 0 has too many possibilities"
    wrong = msgspec.structs.replace(
        AT_ONCE, ops=(*AT_ONCE.ops[:2], OpLiteral(at=(2.15, 2.18), client=1, committed_read=1), *AT_ONCE.ops[2:])
    )
    assert judged(wrong).valid is False


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


def impossible(log, streams=()):
    return set(lost_commits(log, streams).reads.tolist())


@given(COMMITS, READS)
@settings(max_examples=300)
def test_a_single_read_that_nothing_explains_is_found_and_others_change_nothing(commits, reads):
    log, rows = log_of(commits, reads)
    single = {i for i, (f, *read) in enumerate(rows) if f is F.COMMITTED_READ and searched(rows, tuple(read))}
    assert single <= impossible(log)


@given(COMMITS, READS)
@settings(max_examples=150)
def test_of_a_single_read_it_is_exact(commits, reads):
    log, rows = log_of(commits, reads[:1])
    read = next(tuple(rest) for f, *rest in rows if f is F.COMMITTED_READ)
    assert bool(impossible(log)) == searched(rows, read)


@given(COMMITS, READS)
@settings(max_examples=300)
def test_what_had_shown_another_offset_is_there(commits, reads):
    log, _ = log_of(commits, reads)
    found = lost_commits(log, ())
    wrong = set(found.reads.tolist())
    known = [op for op in range(len(log.f)) if log.type[op] == Type.OK and op not in wrong]
    for read, shown, writer in zip(*(column.tolist() for column in found[:3]), strict=True):
        before = [op for op in known if log.complete[op] < log.invoke[read] and value_of(log, op) != log.next[read]]
        tried = [
            op
            for op in range(len(log.f))
            if log.f[op] == F.COMMIT
            and log.type[op] != Type.FAIL
            and log.offset[op] == log.next[read]
            and log.invoke[op] <= log.complete[read]
        ]
        assert writer in tried if tried else writer < 0
        assert all(log.invoke[op] <= log.invoke[writer] for op in tried)
        if not tried and log.next[read] >= 0:
            assert shown < 0
        else:
            assert shown in before
            assert all(log.invoke[op] <= log.invoke[shown] for op in before)


def value_of(log, op):
    return log.offset[op] if log.f[op] == F.COMMIT else log.next[op]


@given(COMMITS, READS)
@settings(max_examples=200)
def test_a_lost_record_may_explain_what_was_answered_after_it(commits, reads):
    log, _ = log_of(commits, reads)
    log.operations["worker"] = np.zeros(len(log.f), dtype=np.int64)
    torn = StreamFacts(worker=0, ended=False, operations=0, reads=0, torn_bytes=0, last_sequence={})
    elsewhere = msgspec.structs.replace(torn, worker=1)  # with no operation of this queue on record
    assert {op for op in impossible(log, (elsewhere,)) if log.next[op] >= 0} == set()
    until = int(log.complete.max())
    found = impossible(log, (torn,))
    assert all(log.next[op] < 0 or log.complete[op] < until for op in found)
    assert impossible(log, (msgspec.structs.replace(torn, ended=True),)) == impossible(log)
