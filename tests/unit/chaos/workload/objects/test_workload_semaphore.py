"""What clients of semaphores do next, how all permits are taken at last, and a whole run of them on a fake."""

import pytest
from final_steps import performed

from chaos.core.client import Definite
from chaos.core.clock import now_ns
from chaos.core.op import Completion, Type
from chaos.models.coordination.semaphore import F, Permit
from chaos.storage.runinfo import Promises
from chaos.testing import FakeSystem, run
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.final import FinalSpec, Part
from chaos.workload.objects.semaphore import (
    AGAIN_EVERY,
    LEASE_MS,
    PERMITS,
    WANTED,
    LastPermits,
    SemaphoreLoad,
    SemaphoreWorkload,
)

SPEC = LoadSpec(keys=3, clients=2, seed=1, body_bytes=8, op_timeout_s=1.0, operations=frozenset(F))
FINAL = FinalSpec(keys=1, op_timeout_s=1.0, operations=frozenset(F), promises=Promises())
OK, FAIL, INFO = Type.OK, Type.FAIL, Type.INFO
LATE_NS = 10 * LEASE_MS * 1_000_000
"""Longer than any permit is held."""


def steps(*answers):
    """The steps of client 0 at semaphore 1 when each is answered so: (word, argument)."""
    load, out, now = SemaphoreLoad(SPEC, SemaphoreWorkload.mix), [], 0
    for kind, result in answers:
        now += LATE_NS
        op = load.invocation(Arrival(now, F.GIVE_BACK, 0, 1), 7, now)
        assert op is not None
        assert load.invocation(Arrival(now, F.ACQUIRE, 0, 1), 7, now) is None, "an answer is out"
        assert load.invocation(Arrival(now, F.ACQUIRE, 0, 2), 8, now) is not None or out, "other places go on"
        out.append((op.f, op.argument))
        load.learn(op, Completion(type=kind, result=result))
    return out


TAKE, GIVE = (F.ACQUIRE, WANTED), (F.GIVE_BACK, Permit(5))
TAKEN, BACK = (OK, Permit(5)), (OK, None)


def test_a_client_takes_a_permit_and_gives_it_back():
    assert steps(TAKEN, BACK, TAKEN) == [TAKE, GIVE, TAKE]


@pytest.mark.parametrize("answer", [(FAIL, None), (INFO, None), (Type.NOT_SENT, None), (INFO, Permit(5))])
def test_who_was_granted_nothing_asks_again(answer):
    assert steps(answer, answer) == [TAKE, TAKE]


@pytest.mark.parametrize("doubt", [INFO, Type.NOT_SENT])
def test_who_does_not_know_whether_it_gave_back_gives_back_again(doubt):
    assert steps(TAKEN, (doubt, None), (doubt, None), (FAIL, None), TAKEN) == [TAKE, GIVE, GIVE, GIVE, TAKE]


def test_now_and_then_a_permit_is_given_back_once_more():
    asked = steps(*[TAKEN, BACK] * AGAIN_EVERY, (FAIL, None), TAKEN)
    assert asked == [*[TAKE, GIVE] * AGAIN_EVERY, GIVE, TAKE]


def test_a_permit_is_held_for_a_while_and_some_beyond_their_lease():
    load, held = SemaphoreLoad(SPEC, SemaphoreWorkload.mix), []
    for turn in range(200):
        now = turn * LATE_NS
        taken = load.invocation(Arrival(now, F.ACQUIRE, 0, 0), 7, now)
        load.learn(taken, Completion(type=OK, result=Permit(turn)))
        waits = iter(range(0, LATE_NS, 10_000_000))
        late = next(one for one in waits if (op := load.invocation(Arrival(now, F.ACQUIRE, 0, 0), 7, now + one)))
        held.append(late / 1_000_000 / LEASE_MS)
        load.learn(op, Completion(type=FAIL))
    assert min(held) < 0.02
    assert 0.9 < max(held) <= 1.26
    assert 0.6 < sum(one < 0.08 for one in held) / len(held) < 0.9


def test_all_permits_are_taken_at_once():
    why, asked = performed(LastPermits(FINAL), Part(0), lambda *_: Completion(type=OK, result=Permit(1)))
    assert (why, [f for _, f, _ in asked]) == ("", [F.ACQUIRE] * PERMITS)


def test_where_one_is_refused_all_leases_are_let_end_before_they_are_taken_again():
    def answer(f, argument, at_s):
        return Completion(type=OK, result=Permit(1)) if at_s > 5 else Completion(type=FAIL, error="none is free")

    why, asked = performed(LastPermits(FINAL), Part(0), answer)
    assert why == ""
    assert asked[PERMITS][0] - asked[0][0] > LEASE_MS / 1000


def test_a_permit_that_is_never_free_is_given_up():
    refused = Completion(type=FAIL, error="none is free")
    why, _ = performed(LastPermits(FINAL), Part(0), lambda *_: refused, limit_s=20.0)
    assert why == f"{PERMITS} of {PERMITS} permits were not granted: none is free"


def step(held, op):
    """A correct semaphore: (the last number, number to end in ns)."""
    last, holders = held or (0, {})
    holders = {number: end for number, end in holders.items() if end > now_ns()}
    if op.f is F.ACQUIRE:
        if len(holders) >= op.argument.permits:
            raise Definite("none is free")
        holders[last + 1] = now_ns() + op.argument.lease_ms * 1_000_000
        return (last + 1, holders), Permit(last + 1)
    if op.argument.permit not in holders:
        raise Definite("not held")
    del holders[op.argument.permit]
    return (last, holders), None


def one_too_many(step, held, op):
    """A bug: the semaphore has a permit more than it should."""
    if op.f is F.ACQUIRE and held is not None and len(held[1]) == op.argument.permits:
        last, holders = held
        _, taken = step((last, {}), op)
        return (last + 1, holders | {last + 1: now_ns() + op.argument.lease_ms * 1_000_000}), taken
    return step(held, op)


def takes_anything_back(step, held, op):
    """A bug: whoever gives back is told that it was taken."""
    try:
        return step(held, op)
    except Definite:
        if op.f is F.GIVE_BACK:
            return held, None
        raise


@pytest.mark.broad
@pytest.mark.parametrize(
    ("bug", "found"),
    [(None, None), (one_too_many, "permits-exceeded"), (takes_anything_back, "permit-released-twice")],
)
def test_a_whole_run_on_a_fake(bug, found, tmp_path):
    fake = FakeSystem(objects={"semaphore": step}, bug=bug)
    done = run(tmp_path, fake, workload="semaphore", time_limit_s=8, reports=())
    row = done.check("semaphore")
    assert row.valid is (bug is None), row
    assert set(row.anomalies) == ({found} if found else set())
