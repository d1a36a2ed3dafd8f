"""What clients of queues without offsets ask for, how queues are emptied, and whole runs on a fake."""

import pytest
from final_steps import performed

from chaos.core.op import Completion, Invocation, Type
from chaos.models.queues.total_queue import F, Taken
from chaos.storage.runinfo import Promises
from chaos.testing import FakeSystem, lose_acknowledged, run
from chaos.workload.base import LoadSpec
from chaos.workload.final import FinalSpec, Part
from chaos.workload.objects.final_dequeues import AT_ONCE, FinalDequeues
from chaos.workload.objects.total_queue import TotalQueueWorkload

SPEC = LoadSpec(keys=3, clients=2, seed=1, body_bytes=8, op_timeout_s=1.0, operations=frozenset(F))
FINAL = FinalSpec(keys=1, op_timeout_s=1.0, operations=frozenset(F), promises=Promises(redelivered_within_s=5.0))
EMPTY, NONE = Completion(type=Type.OK, result=Taken()), Completion(type=Type.INFO, error="no answer")


def test_no_message_is_sent_twice():
    load = TotalQueueWorkload().generator(SPEC)
    arrivals = load.arrivals([0, 1], 50.0)
    asked = [load.invocation(next(arrivals), 0, 0) for _ in range(200)]
    values = [op.argument.value for op in asked if op.f is F.ENQUEUE]
    assert len(values) == len(set(values)) > 50
    assert all(op.argument is None for op in asked if op.f is F.DEQUEUE)


def test_a_queue_is_empty_when_nothing_can_come_back():
    why, asked = performed(FinalDequeues(FINAL), Part(0), lambda *_: EMPTY)
    assert why == ""
    assert asked[-1][0] > 6.0 >= asked[-1 - AT_ONCE][0], "the deadline of an operation, and what is promised"


def test_what_may_be_on_its_way_is_waited_for():
    def answer(f, argument, at_s):
        return NONE if 3.0 < at_s < 4.5 else EMPTY

    why, asked = performed(FinalDequeues(FINAL), Part(0), answer)
    assert why == ""
    assert asked[-1][0] > 9.0


def test_a_queue_that_is_never_empty_is_given_up():
    more = Completion(type=Type.OK, result=Taken(value=1))
    why, asked = performed(FinalDequeues(FINAL), Part(0), lambda *_: more, limit_s=20.0)
    assert why == "messages still came"
    assert asked[-1][0] < 20.0


def test_a_queue_without_answers_says_why():
    why, _ = performed(FinalDequeues(FINAL), Part(0), lambda *_: NONE, limit_s=20.0)
    assert why == "no answer"


def queue(held, op: Invocation):
    """What a correct queue does."""
    held = held or ()
    if op.f is F.ENQUEUE:
        return (*held, op.argument.value), None
    return held[1:], Taken(value=held[0]) if held else Taken()


@pytest.mark.broad
@pytest.mark.parametrize("bug", [None, lose_acknowledged(every=20)])
def test_a_whole_run_on_a_fake(bug, tmp_path):
    fake = FakeSystem(objects={"total-queue": queue}, bug=bug)
    done = run(tmp_path, fake, workload="total-queue", time_limit_s=6, reports=())
    row = done.check("total-queue")
    assert ("lost-write" in row.anomalies) == (bug is not None), row
    assert row.valid is (bug is None), row
