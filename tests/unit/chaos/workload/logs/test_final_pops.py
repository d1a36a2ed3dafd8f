"""The last pops end with an empty one after everything must have come, and with the reason where they do not."""

import pytest
from final_steps import performed
from log_ops import gave

from chaos.core.op import Completion, Type
from chaos.models.log.words import F
from chaos.storage.runinfo import Promises
from chaos.workload.final import FinalSpec, Part
from chaos.workload.logs.final_pops import TIMEOUT_S, FinalPops

INVISIBLE_S, AGAIN_WITHIN_S = 2.0, 3.0
ALL_CAME_S = TIMEOUT_S + INVISIBLE_S + AGAIN_WITHIN_S
PHASE = FinalPops(
    FinalSpec(keys=2, op_timeout_s=3, operations=frozenset(F), promises=Promises(redelivered_within_s=AGAIN_WITHIN_S)),
    INVISIBLE_S,
)


def popped(*answers, ack=Type.OK, limit_s=300.0, then=None, **missing):
    """Pops that are answered in turn, the rest with ``then``."""
    left = list(answers)

    def answer(f, _argument, _at_s):
        if f is F.ACK:
            return Completion(type=ack)
        return left.pop(0) if left else then or gave()

    return performed(PHASE, Part(0), answer, limit_s=limit_s, **missing)


def test_every_queue_is_a_part():
    assert PHASE.parts() == (Part(0), Part(1))


def test_what_comes_is_acknowledged_and_the_last_pop_begins_after_all_that_could_come():
    why, asked = popped(gave((0, (1, 0)), (1, (1, 1))), gave(), gave((2, (1, 2))))
    assert why == ""
    assert [argument.value.sequence for _, f, argument in asked if f is F.ACK] == [0, 1, 2]
    last_s, last, _ = asked[-1]
    assert last is F.POP
    assert ALL_CAME_S < last_s < ALL_CAME_S + 1


@pytest.mark.parametrize(
    ("answer", "ack"), [(Completion(type=Type.INFO, error="no answer"), Type.OK), (gave((3, (1, 3))), Type.FAIL)]
)
def test_what_nobody_heard_and_refused_acks_begin_the_time_anew(answer, ack):
    quiet = [gave()] * 10
    why, asked = popped(*quiet, answer, ack=ack)
    pops = [at_s for at_s, f, _ in asked if f is F.POP]
    assert why == ""
    assert pops[-1] - pops[10] > ALL_CAME_S


def test_a_queue_that_never_ends_is_given_up_with_the_last_reason():
    why, asked = popped(then=Completion(type=Type.FAIL, error="not master"), limit_s=50)
    assert why == "not master"
    assert 49 < asked[-1][0] <= 50
    assert popped(then=gave((0, (1, 0))), limit_s=50)[0] == "what was let go could still come"


def test_where_queues_did_not_come_back_it_is_given_up_early():
    _, asked = popped(then=Completion(type=Type.FAIL, error="not master"), limit_s=200, keys_missing=True)
    assert asked[-1][0] <= 30


def test_damaged_messages_are_not_acknowledged():
    why, asked = popped(gave((0, None)))
    assert why == ""
    assert {f for _, f, _ in asked} == {F.POP}
