"""The consumer group's schedule is seeded and shared, and a member takes its steps in the right order."""

from itertools import islice, takewhile

import pytest
from log_ops import gave, goes_on_at

from chaos.core.clock import NS_PER_S
from chaos.core.errors import UsageError
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.words import F
from chaos.workload.base import Arrival, LoadSpec, check_suited
from chaos.workload.logs.group import POLLS_PER_COMMIT, REBALANCE_S, STEPS_OF_REST, GroupLoad, GroupWorkload
from chaos.workload.logs.idempotent import IdempotentWorkload
from chaos.workload.logs.queue import QueueWorkload

OK = Type.OK


def workload(clients: int = 4, seed: int = 3, keys: int = 3) -> GroupLoad:
    return GroupLoad(
        LoadSpec(keys=keys, clients=clients, seed=seed, body_bytes=100, op_timeout_s=3, operations=frozenset(F))
    )


def load(it: GroupLoad, clients: list[int], rate: float, seconds: int) -> list[Arrival]:
    return list(takewhile(lambda arrival: arrival.at_ns < seconds * NS_PER_S, it.arrivals(clients, rate)))


def steps_of(arrivals: list[Arrival]) -> list[Arrival]:
    return [arrival for arrival in arrivals if arrival.f is F.POLL]


def asked(it: GroupLoad, arrival: Arrival, process: int = 1) -> Invocation:
    op = it.invocation(arrival, process, 0)
    assert op is not None
    return op


def beginning(it: GroupLoad, slot: int) -> int:
    """A moment (ns) at which the first queue has changed hands so often."""
    return next(at for at in range(0, 300 * NS_PER_S, NS_PER_S // 20) if it.slot(0, at) == slot)


def test_every_queue_has_one_member_at_a_time_and_workers_agree_who_it_is() -> None:
    whole = steps_of(load(workload(), [0, 1, 2, 3], 100, 20))
    halves = steps_of(load(workload(), [0, 2], 50, 20)) + steps_of(load(workload(), [1, 3], 50, 20))
    assert sorted(halves) == sorted(whole)
    it = workload()
    owners = {(step.key, it.slot(step.key, step.at_ns)): step.client for step in whole}
    assert all(owners[step.key, it.slot(step.key, step.at_ns)] == step.client for step in whole)
    assert len(set(owners.values())) == 4
    stretches = 3 * 20 // REBALANCE_S
    assert stretches <= len(owners) <= stretches + 3


def test_a_queue_changes_hands_once_a_stretch_at_moments_that_keep_step_with_nothing() -> None:
    it = workload()
    for key in range(3):
        ends = [it.slot(key, stretch * REBALANCE_S * NS_PER_S - 1) for stretch in range(1, 101)]
        assert ends == list(range(1, 101)), "once a stretch"
        seconds = [
            sum(it.slot(key, (stretch * REBALANCE_S + second) * NS_PER_S) == stretch for second in range(REBALANCE_S))
            for stretch in range(100)
        ]
        assert all(10 < seconds.count(second) < 50 for second in range(1, REBALANCE_S + 1))
    assert it.slot(0, 100 * NS_PER_S) == workload().slot(0, 100 * NS_PER_S)
    another = workload(seed=4)
    assert any(another.slot(0, at * NS_PER_S) != it.slot(0, at * NS_PER_S) for at in range(99))


def test_sends_and_steps_keep_their_rates() -> None:
    arrivals = load(workload(), [0, 1, 2, 3], 100, 20)
    assert arrivals == sorted(arrivals, key=lambda arrival: arrival.at_ns)
    assert sum(arrival.f is F.SEND for arrival in arrivals) == pytest.approx(2000, abs=1)
    assert len(steps_of(arrivals)) == pytest.approx(100 * 20 * (0.5 + 0.2), abs=4)
    asks = [arrival for arrival in arrivals if arrival.f is F.COMMITTED_READ]
    assert len(asks) == pytest.approx(100 * 20 * 0.15, abs=1)
    assert {(ask.client, ask.key) for ask in asks} == {(client, key) for client in range(4) for key in range(3)}


def test_every_client_asks_where_the_group_goes_on_and_no_member_is_moved_by_the_answer() -> None:
    it = workload()
    step = Arrival(0, F.POLL, it.owner(0, it.slot(0, 0)), 0)
    it.learn(asked(it, step), goes_on_at(5))
    for client in range(4):
        ask = asked(it, Arrival(0, F.COMMITTED_READ, client, 0), 50 + client)
        assert (ask.f, ask.key, ask.argument) == (F.COMMITTED_READ, 0, None)
        it.learn(ask, goes_on_at(99))
    assert asked(it, step).argument.offset == 5


def test_a_member_asks_then_polls_then_commits() -> None:
    it = workload()
    step = Arrival(0, F.POLL, it.owner(0, it.slot(0, 0)), 0)
    first = asked(it, step)
    assert (first.f, first.argument) == (F.COMMITTED_READ, None)
    it.learn(first, goes_on_at(40))
    at = 40
    for _ in range(POLLS_PER_COMMIT):
        poll = asked(it, step)
        assert (poll.f, poll.argument.offset) == (F.POLL, at)
        assert 0 < poll.argument.wait_ms < 3000
        at += 3
        it.learn(poll, gave(next_offset=at))
    commit = asked(it, step)
    assert (commit.f, commit.argument.offset) == (F.COMMIT, at)
    it.learn(commit, Completion(type=Type.INFO))
    assert asked(it, step, 2).f is F.POLL


def test_a_member_goes_on_only_from_what_it_was_told() -> None:
    it = workload()
    step = Arrival(0, F.POLL, it.owner(0, it.slot(0, 0)), 0)
    for outcome in (Type.FAIL, Type.INFO, Type.NOT_SENT):
        op = asked(it, step)
        assert op.f is F.COMMITTED_READ
        it.learn(op, goes_on_at(7, outcome))
        assert [it.invocation(step, 1, 0) for _ in range(STEPS_OF_REST)] == [None] * STEPS_OF_REST
    it.learn(asked(it, step), Completion(type=OK))
    for done in (gave(kind=Type.INFO, next_offset=9), Completion(type=OK), gave(next_offset=0)):
        poll = asked(it, step)
        assert (poll.f, poll.argument.offset) == (F.POLL, 0)
        it.learn(poll, done)


def test_it_asks_one_thing_at_a_time_and_a_new_hold_forgets_the_old_answers() -> None:
    it = workload(clients=2, keys=1)
    slots = [it.owner(0, slot) for slot in range(50)]
    back = next(i for i in range(2, 50) if slots[i] == slots[i - 2] != slots[i - 1])
    here, later = (Arrival(beginning(it, slot), F.POLL, slots[back], 0) for slot in (back - 2, back))
    it.learn(asked(it, here), goes_on_at(5))
    old = asked(it, here, 11)
    assert it.invocation(here, 12, 0) is None
    fresh = asked(it, later, 13)
    assert fresh.f is F.COMMITTED_READ
    it.learn(old, gave(next_offset=99))
    assert it.invocation(later, 14, 0) is None
    it.learn(fresh, goes_on_at(20))
    assert asked(it, later, 15).argument.offset == 20


def test_who_keeps_a_queue_goes_on_without_asking() -> None:
    it = workload(clients=1, keys=1)
    first, second = (Arrival(beginning(it, slot), F.POLL, 0, 0) for slot in (0, 3))
    it.learn(asked(it, first), goes_on_at(5))
    assert (asked(it, second).f, it.invocation(second, 2, 0)) == (F.POLL, None)


def test_sends_and_reads_are_those_of_the_workload_queue() -> None:
    it = workload()
    kinds = {arrival.f for arrival in islice(it.arrivals([0, 1, 2, 3], 100), 400)}
    assert kinds == {F.SEND, F.POLL, F.COMMITTED_READ, F.READ, F.SLAVE_READ}
    send = asked(it, Arrival(0, F.SEND, 1, 2))
    assert (send.key, send.argument.value.sequence, send.argument.body_bytes) == (2, 0, 100)


def test_a_system_that_cannot_is_refused_in_one_line() -> None:
    plain = frozenset({F.SEND, F.POLL, F.READ, F.DRAIN})
    check_suited(QueueWorkload(), "x", plain, idempotent_sends=False)
    check_suited(GroupWorkload(), "x", frozenset(F), idempotent_sends=False)
    check_suited(IdempotentWorkload(), "x", plain, idempotent_sends=True)
    with pytest.raises(UsageError, match="clients of x make no commit and no committed-read; take another workload"):
        check_suited(GroupWorkload(), "x", plain, idempotent_sends=True)
    with pytest.raises(UsageError, match="--workload idempotent: clients of x make no idempotent send"):
        check_suited(IdempotentWorkload(), "x", plain, idempotent_sends=False)
