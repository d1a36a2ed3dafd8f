"""Clients pop, hold, acknowledge, keep longer and let go; whatever they say of a message is certain to be in time."""

from itertools import takewhile

import pytest
from log_ops import gave, placed

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import Pop
from chaos.models.log.words import F, Value
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.logs.pop import HOLD_S, INVISIBLE_S, MARGIN_S, PopLoad, invisible_s

OK = Type.OK
POP, ACK = Arrival(0, F.POP, 0, 0), Arrival(0, F.ACK, 0, 0)
T = int(INVISIBLE_S * NS_PER_S)
LATE_NS = T - int((3 + MARGIN_S) * NS_PER_S)


def workload(seed: int = 1, op_timeout_s: float = 3) -> PopLoad:
    return PopLoad(
        LoadSpec(keys=3, clients=2, seed=seed, body_bytes=64, op_timeout_s=op_timeout_s, operations=frozenset(F))
    )


def asked(it: PopLoad, arrival: Arrival, now_ns: int = 0) -> Invocation:
    op = it.invocation(arrival, 7, now_ns)
    assert op is not None
    return op


def popped(it: PopLoad, count: int, attempt: int = 1, first: int = 0) -> None:
    it.learn(asked(it, POP), gave(*((n, (0, n), attempt) for n in range(first, first + count))))


def said(it: PopLoad, now_ns: int) -> list[Invocation]:
    return [op for op in iter(lambda: it.invocation(ACK, 8, now_ns), None) if op is not None]


def test_a_pop_asks_for_the_time_and_nothing_is_said_before_something_is_held() -> None:
    it = workload()
    assert it.invocation(ACK, 1, NS_PER_S) is None
    op = asked(it, Arrival(0, F.POP, 0, 2))
    assert (op.f, op.key, op.argument) == (F.POP, 2, Pop(invisible_ns=T))


def test_what_is_held_is_acknowledged_kept_longer_or_let_go_in_their_shares() -> None:
    it = workload()
    popped(it, 1000)
    ops = said(it, int(HOLD_S * NS_PER_S))
    extends = [op for op in ops if op.f is F.EXTEND]
    assert {op.f for op in ops} == {F.ACK, F.EXTEND}
    assert 920 <= len(ops) <= 980
    assert 60 <= len(extends) <= 140
    assert all(op.argument.invisible_ns == T for op in extends)
    assert all(op.argument.offset == op.argument.value.sequence for op in ops if op.f is F.ACK)
    assert not said(it, int(HOLD_S * NS_PER_S))


def test_what_is_given_again_is_never_let_go() -> None:
    it = workload()
    popped(it, 1000, attempt=2)
    assert len(said(it, int(HOLD_S * NS_PER_S))) == 1000


def test_what_is_kept_longer_is_acknowledged_later() -> None:
    it = workload()
    popped(it, 200)
    ops = said(it, int(HOLD_S * NS_PER_S))
    extends = [op for op in ops if op.f is F.EXTEND]
    it.learn(extends[0], Completion(type=OK))
    it.learn(extends[1], Completion(type=Type.INFO))
    it.learn(ops[0], Completion(type=Type.FAIL))
    later = said(it, LATE_NS + int(HOLD_S * NS_PER_S))
    assert [(op.f, op.argument.value) for op in later] == [(F.ACK, extends[0].argument.value)]


def test_nothing_is_said_that_might_come_late() -> None:
    it = workload()
    popped(it, 100)
    assert said(it, LATE_NS + 1) == []
    popped(it, 100, first=100)
    assert len(said(it, LATE_NS)) > 80


def test_a_client_speaks_of_what_it_holds_only_and_damaged_messages_are_nobodys() -> None:
    it = workload()
    it.learn(asked(it, POP), gave((0, None), (1, (0, 1), 2)))
    assert it.invocation(Arrival(0, F.ACK, 1, 0), 1, NS_PER_S) is None
    assert [op.argument.value for op in said(it, NS_PER_S)] == [Value(0, 1)]


def test_what_came_with_a_doubtful_answer_is_held_too() -> None:
    it = workload()
    it.learn(asked(it, POP), gave((0, (0, 0), 2), kind=Type.INFO))
    assert len(said(it, NS_PER_S)) == 1


@pytest.mark.parametrize("op_timeout_s", [0.5, 3, 10])
def test_there_is_time_to_say_something_whatever_the_deadline(op_timeout_s: float) -> None:
    it = workload(op_timeout_s=op_timeout_s)
    assert invisible_s(op_timeout_s) >= max(INVISIBLE_S, 2 * op_timeout_s)
    it.learn(asked(it, POP), gave(*((n, (0, n), 2) for n in range(50))))
    assert len(said(it, int(HOLD_S * NS_PER_S))) == 50


def test_the_rates_are_those_of_the_mix_and_workers_share_them() -> None:
    def load(clients: list[int], rate: float) -> list[Arrival]:
        return list(takewhile(lambda one: one.at_ns < 20 * NS_PER_S, workload().arrivals(clients, rate)))

    arrivals = load([0, 1], 100)
    kinds = {f: sum(one.f is f for one in arrivals) for f in F}
    assert kinds[F.SEND] == pytest.approx(2000, abs=2)
    assert kinds[F.POP] == pytest.approx(600, abs=2)
    assert kinds[F.ACK] == pytest.approx(2400, abs=2)
    assert kinds[F.EXTEND] == 0
    assert len(load([0], 50)) + len(load([1], 50)) == pytest.approx(len(arrivals), abs=12)


def test_sends_and_reads_are_those_of_the_workload_queue() -> None:
    it = workload()
    send = asked(it, Arrival(0, F.SEND, 1, 2))
    assert (send.key, send.argument.value, send.argument.body_bytes) == (2, Value(1, 0), 64)
    it.learn(send, placed(99))
    assert asked(it, Arrival(0, F.READ, 1, 2)).argument.offset == 100 - 64


def test_who_is_given_a_message_again_has_only_its_new_receipt() -> None:
    it = workload()
    popped(it, 100, attempt=2)
    popped(it, 100, attempt=3)
    assert len(said(it, int(HOLD_S * NS_PER_S))) == 100
