"""The last pops end with an empty one after everything must have come, and with the reason where they do not."""

import asyncio

import pytest

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Completion, Type
from chaos.models.log.words import F, Record, Value
from chaos.worker import final_pops

TIMES = {"invisible_s": 0.02, "returns_s": 0.02}


class Queue:
    """Gives what it was told to, one answer a pop, then nothing; keeps what was asked and when."""

    def __init__(self, *answers, ack=Type.OK):
        self.answers, self.ack = list(answers), ack
        self.asked = []

    async def __call__(self, f, record):
        self.asked.append((f, record, now_ns()))
        if f is F.ACK:
            return Completion(type=self.ack)
        return self.answers.pop(0) if self.answers else Completion(type=Type.OK)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(final_pops, "PAUSE_S", 0.001)
    monkeypatch.setattr(final_pops, "TIMEOUT_S", 0.01)


def popped(queue, deadline_s=60.0):
    deadline_ns = now_ns() + int(deadline_s * NS_PER_S)
    return asyncio.run(final_pops.pop_to_the_end(queue, deadline_ns=deadline_ns, **TIMES))


def records(*numbers):
    return Completion(type=Type.OK, records=tuple(Record(n, Value(1, n)) for n in numbers))


def test_what_comes_is_acknowledged_and_the_last_pop_begins_after_all_that_could_come():
    queue = Queue(records(0, 1), Completion(type=Type.OK), records(2))
    assert popped(queue) == ""
    assert [record.value.sequence for f, record, _ in queue.asked if f is F.ACK] == [0, 1, 2]
    assert queue.asked[-1][0] is F.POP
    assert queue.asked[-1][2] - queue.asked[0][2] >= 0.05 * NS_PER_S


@pytest.mark.parametrize(
    "queue", [Queue(Completion(type=Type.INFO, error="no answer")), Queue(records(3), ack=Type.FAIL)]
)
def test_what_nobody_heard_or_refused_acks_begin_the_time_anew(queue):
    assert popped(queue) == ""
    unsure = next(i for i, (f, _, _) in enumerate(queue.asked) if f is F.ACK or len(queue.answers) == 0)
    assert queue.asked[-1][2] - queue.asked[unsure][2] >= 0.05 * NS_PER_S


def test_a_queue_that_never_ends_is_given_up_with_the_last_reason():
    refused = Queue(*[Completion(type=Type.FAIL, error="not master")] * 100_000)
    assert popped(refused, deadline_s=0.1) == "not master"
    assert popped(Queue(*[records(0)] * 100_000), deadline_s=0.1) == "what was let go could still come"


def test_damaged_messages_are_not_acknowledged():
    queue = Queue(Completion(type=Type.OK, records=(Record(0, None),)))
    assert popped(queue) == ""
    assert {f for f, _, _ in queue.asked} == {F.POP}
