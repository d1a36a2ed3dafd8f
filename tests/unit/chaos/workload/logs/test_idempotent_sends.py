"""Idempotent sends: attempts under one number until the answer, one at a time, honest at the deadline.

The broker here is the core's rule for sequence numbers behind a link that loses answers on request.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from log_ops import sending

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import Placed, Send, placed_at
from chaos.models.log.words import F, Value
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.logs import idempotent_sends
from chaos.workload.logs.idempotent import IdempotentLoad, IdempotentWorkload
from chaos.workload.logs.idempotent_sends import BUSY
from cluster.systems.minimq.replication import broker_rules


class Broker:
    """Takes each number of a producer once; ``fate`` decides what becomes of the n-th attempt."""

    pinned_to = None

    def __init__(self, fate: Callable[[int], str]) -> None:
        self.log: list[Value] = []
        self.taken: dict[str, list[int]] = {}
        self.asked: list[tuple[str, int]] = []
        self.under_way = self.most_under_way = 0
        self._fate = fate

    async def invoke(self, op: Invocation, received: Received) -> None:
        send: Send = op.argument
        self.asked.append((send.producer, send.producer_sequence))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            received.result = Placed(self._answer(self._fate(len(self.asked)), send))
        finally:
            self.under_way -= 1

    def _answer(self, fate: str, send: Send) -> int:
        if fate == "refused":
            raise Definite("not master")
        if fate == "lost":
            raise Indefinite("reset")
        before = self.taken.setdefault(send.producer, [])
        verdict = broker_rules.judge_sequence(len(before), send.producer_sequence)
        assert verdict != "gap"
        if verdict != "repeat":
            before.append(len(self.log))
            self.log.append(send.value)
        if fate == "taken, answer lost":
            raise Indefinite("reset")
        return before[send.producer_sequence]

    async def refresh(self) -> None: ...

    async def close(self) -> None: ...


def workload() -> IdempotentLoad:
    spec = LoadSpec(keys=1, clients=1, seed=1, body_bytes=64, op_timeout_s=3, operations=frozenset(F))
    load = IdempotentWorkload().generator(spec)
    assert isinstance(load, IdempotentLoad)
    return load


def test_a_send_is_attempted_for_longer_than_a_failover_takes_and_other_operations_are_not() -> None:
    it = workload()
    send, poll = (it.invocation(Arrival(0, f, 0, 0), 0, 0) for f in (F.SEND, F.POLL))
    assert send is not None
    assert poll is not None
    assert (send.deadline_ns, poll.deadline_ns) == (15 * NS_PER_S, 3 * NS_PER_S)


def sends(count: int, timeout_s: float = 30.0, first: int = 0) -> list[Invocation]:
    deadline_ns = now_ns() + int(timeout_s * NS_PER_S)
    return [sending((0, i), process=i, deadline_ns=deadline_ns) for i in range(first, first + count)]


def performed(broker: Broker, ops: list[Invocation]) -> list[Completion]:
    load = workload()

    async def all_of() -> list[Completion]:
        return await asyncio.gather(*(load.perform(broker, op) for op in ops))

    return run(all_of())


def run(coroutine: Coroutine[Any, Any, list[Completion]]) -> list[Completion]:
    return asyncio.run(coroutine)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotent_sends, "PAUSE_S", 0.0)


def test_numbers_ascend_and_one_send_is_under_way() -> None:
    broker = Broker(lambda _: "taken")
    done = performed(broker, sends(5))
    assert [placed_at(one) for one in done] == [0, 1, 2, 3, 4]
    assert broker.asked == [("0.0.0", i) for i in range(5)]
    assert broker.most_under_way == 1


def test_an_attempt_without_an_answer_is_made_again_and_taken_once() -> None:
    fates = ["taken, answer lost", "lost", "refused", "taken", "taken"]
    broker = Broker(lambda n: fates[n - 1])
    done = performed(broker, sends(2))
    assert [(one.type, placed_at(one)) for one in done] == [(Type.OK, 0), (Type.OK, 1)]
    assert broker.asked == [("0.0.0", 0)] * 4 + [("0.0.0", 1)]
    assert broker.log == [Value(0, 0), Value(0, 1)]


def test_only_refusals_are_a_fail_and_the_number_is_used_again() -> None:
    ops = sends(1, 0.5) + sends(1, first=1)
    until_ns = ops[0].deadline_ns
    broker = Broker(lambda _: "refused" if now_ns() < until_ns else "taken")
    done = performed(broker, ops)
    assert [one.type for one in done] == [Type.FAIL, Type.OK]
    assert set(broker.asked) == {("0.0.0", 0)}
    assert broker.log == [Value(0, 1)]


def test_one_unanswered_attempt_is_an_info_and_the_producer_is_given_up() -> None:
    ops = sends(1, 0.5) + sends(1, first=1)
    until_ns = ops[0].deadline_ns
    broker = Broker(lambda n: "taken, answer lost" if n == 1 else "refused" if now_ns() < until_ns else "taken")
    done = performed(broker, ops)
    assert [one.type for one in done] == [Type.INFO, Type.OK]
    assert broker.asked[-1] == ("0.0.1", 0)
    assert broker.log == [Value(0, 0), Value(0, 1)]


def test_whose_turn_does_not_come_never_leaves() -> None:
    ops = sends(1, 0.9) + sends(2, 0.5, first=1)
    broker = Broker(lambda _: "refused")
    done = performed(broker, ops)
    assert [one.type for one in done] == [Type.FAIL] * 3
    assert [one.error for one in done] == ["not master", BUSY, BUSY]
    assert broker.log == []


def test_whose_turn_comes_too_late_since_the_process_stood_still_never_leaves() -> None:
    def stand_still(_: int) -> str:
        time.sleep(0.6)  # beyond both deadlines: the turn of the second comes in the moment in which its time is up
        return "refused"

    broker = Broker(stand_still)
    done = performed(broker, sends(1, 0.5) + sends(1, 0.5, first=1))
    assert [one.error for one in done] == ["not master", BUSY]
    assert broker.asked == [("0.0.0", 0)]
