"""Clients whose process was killed and started again do nothing that they can do only once a second time."""

import itertools
from collections import Counter

import pytest

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Type
from chaos.models.registry import model_named
from chaos.models.transactions.words import Do
from chaos.options.planning import _unfit
from chaos.options.resolve import experiment_of
from chaos.options.system_under_test import system_of
from chaos.plugins import load, names
from chaos.workload.base import NUMBERS_OF_OP, Earlier, LivesToTheEnd, LoadSpec
from chaos.workload.logs.idempotent import IdempotentWorkload
from chaos.workload.objects.watch import MOST_CHANGES
from chaos.workload.transactions.long_fork import LongForkWorkload
from chaos.workload.transactions.monotonic import MonotonicWorkload
from chaos.workload.transactions.transactions import LONGEST

CLIENTS = 4
SECONDS = 20
BUILT_IN = sorted(name for name in names("workloads"))
REPEATING = {"register", "counter", "bank", "unique-ids", "lock", "semaphore", "long-fork", "kv"}
"""Workloads whose arguments may be the same again, or say nothing of their client."""


def life(workload, from_s, until_s, earlier):
    """What clients ask for in a life that begins so late, each without an answer: the invocations."""
    words = model_named(workload.model).words
    spec = LoadSpec(
        keys=3,
        clients=CLIENTS,
        seed=5,
        body_bytes=8,
        op_timeout_s=1.0,
        operations=frozenset(words),
        earlier=earlier,
    )
    generator = workload.generator(spec)
    asked = []
    for one in itertools.takewhile(
        lambda one: one.at_ns < until_s * NS_PER_S, generator.arrivals(list(range(CLIENTS)), 40.0)
    ):
        if one.at_ns < from_s * NS_PER_S:
            continue
        op = generator.invocation(one, len(asked), one.at_ns)
        if op is None:
            continue
        if isinstance(workload, IdempotentWorkload):
            op = generator.stamped(op) if op.f.word == "send" else op
        asked.append(op)
        generator.learn(op, Completion(type=Type.INFO, error="no answer"))
    return asked


def unique(op):
    """What of an operation nobody may ask for again."""
    argument = op.argument
    if hasattr(argument, "micros"):
        return [((op.key, one.key), one.value) for one in argument.micros if one.do is not Do.READ]
    if hasattr(argument, "changes"):
        return [change.value for change in argument.changes if change.value >= 0]
    if getattr(argument, "producer", ""):
        return [(argument.producer, argument.producer_sequence), argument.value]
    for name in ("value", "element", "lease"):
        if (found := getattr(argument, name, None)) is not None and op.f.word not in (
            "renew",
            "revoke",
            "ack",
            "extend",
        ):
            return [found]
    return []


def after(asked):
    """What a worker is told of a life in which it asked for this."""
    return Earlier(numbers=NUMBERS_OF_OP * len(asked) + CLIENTS, unknown=len(asked))


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in REPEATING])
def test_no_value_is_given_out_twice(name: str) -> None:
    workload = load("workloads", name)()
    first = life(workload, 0, SECONDS / 2, Earlier())
    again = life(workload, SECONDS / 2, SECONDS, after(first))
    assert first
    assert again
    counts = Counter(map(repr, itertools.chain.from_iterable(unique(op) for op in [*first, *again])))
    assert counts
    assert set(counts.values()) == {1}


def test_it_would_be_without_what_the_worker_is_told() -> None:
    workload = load("workloads", "set")()
    first, again = (life(workload, at_s, at_s + 10, Earlier()) for at_s in (0, 10))
    assert {one for op in first for one in unique(op)} & {one for op in again for one in unique(op)}


def test_the_schedule_goes_on_as_if_it_had_never_been_left() -> None:
    workload = load("workloads", "queue")()
    whole = life(workload, 0, SECONDS, Earlier())
    parts = [*life(workload, 0, 10, Earlier()), *life(workload, 10, SECONDS, Earlier(numbers=1000))]
    assert [(op.f, op.client, op.key) for op in parts] == [(op.f, op.client, op.key) for op in whole]


def test_a_register_under_a_write_of_unknown_outcome_is_left_alone() -> None:
    first = life(MonotonicWorkload(), 0, 10, Earlier())
    again = life(MonotonicWorkload(), 10, 20, after(first))
    written = [{key for op in part for key, _ in unique(op)} for part in (first, again)]
    assert written[0]
    assert not written[0] & written[1]


def test_a_key_that_an_earlier_life_may_have_written_is_left_alone() -> None:
    first = life(LongForkWorkload(), 0, 10, Earlier())
    again = life(LongForkWorkload(), 10, 20, after(first))
    counts = Counter(key for op in [*first, *again] for key, _ in unique(op))
    assert set(counts.values()) == {1}


def test_no_operation_takes_more_numbers_than_are_kept_free() -> None:
    assert max(LONGEST, MOST_CHANGES) <= NUMBERS_OF_OP


def test_clients_that_are_asked_for_what_they_have_in_mind_are_not_killed() -> None:
    kept = {name for name in BUILT_IN if isinstance(load("workloads", name)(), LivesToTheEnd)}
    assert kept == {"delayed", "transactional"}
    for name in ("queue", *kept):
        experiment = experiment_of({"system": "rocketmq", "workload": name, "nemesis": "noop"})
        assert ("client-crash" in _unfit(experiment, system_of(experiment))) == (name in kept)
