"""What clients of locks do next, and a whole run of them on a fake."""

import pytest

from chaos.core.client import Definite
from chaos.core.clock import now_ns
from chaos.core.op import Completion, Type
from chaos.models.coordination.lock import F, Granted, Lease, Token, Written
from chaos.testing import FakeSystem, run
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.objects.lock import LEASE_MS, STILL_NS, WRITES, LockLoad, LockWorkload

SPEC = LoadSpec(keys=3, clients=2, seed=1, body_bytes=8, op_timeout_s=1.0, operations=frozenset(F))
OK, FAIL, INFO = Type.OK, Type.FAIL, Type.INFO


def steps(*answers):
    """The steps of client 0 when each is answered so: (word, key, argument)."""
    load, out = LockLoad(SPEC, LockWorkload.mix), []
    for number, (kind, result) in enumerate(answers):
        op = load.invocation(Arrival(number, F.GUARDED, 0, number % 3), 7, 100)
        assert op is not None
        assert load.invocation(Arrival(number, F.GUARDED, 0, 2), 7, 100) is None, "an answer is out"
        assert load.invocation(Arrival(number, F.GUARDED, 1, 2), 8, 100) is not None or number, "others go on"
        out.append((op.f, op.key, op.argument))
        load.learn(op, Completion(type=kind, result=result))
    return out


TAKE, TOKEN = Lease(lease_ms=LEASE_MS), Token(token=5)
TAKEN, DONE = (OK, Granted(5)), (OK, Written(1))


def test_a_holder_writes_and_gives_back():
    assert steps(TAKEN, *[DONE] * WRITES, (OK, None), TAKEN) == [
        (F.ACQUIRE, 0, TAKE),
        *[(F.GUARDED, 0, TOKEN)] * WRITES,
        (F.UNLOCK, 0, TOKEN),
        (F.ACQUIRE, (WRITES + 2) % 3, TAKE),
    ]


@pytest.mark.parametrize("answer", [(FAIL, None), (INFO, None), (Type.NOT_SENT, None), (INFO, Granted(5))])
def test_who_was_not_granted_the_lock_asks_for_the_next(answer):
    assert [f for f, _, _ in steps(answer, answer)] == [F.ACQUIRE] * 2


def test_who_does_not_know_whether_it_wrote_writes_again_however_late():
    assert [f for f, _, _ in steps(TAKEN, (INFO, None), (INFO, None), *[DONE] * WRITES, (INFO, None), TAKEN)] == [
        F.ACQUIRE,
        *[F.GUARDED] * (2 + WRITES),
        F.UNLOCK,
        F.ACQUIRE,
    ]


def test_who_is_refused_gives_back():
    assert [f for f, _, _ in steps(TAKEN, (FAIL, None), (Type.NOT_SENT, None), (FAIL, None), TAKEN)] == [
        F.ACQUIRE,
        F.GUARDED,
        F.UNLOCK,
        F.UNLOCK,
        F.ACQUIRE,
    ]


def test_some_holders_stand_still_for_longer_than_their_lease_and_go_on():
    load, still = LockLoad(SPEC, LockWorkload.mix), 0

    def asks(at_ns):
        return load.invocation(Arrival(0, F.GUARDED, 0, 0), 7, at_ns)

    for grant in range(2000):
        taken_ns, late_ns = grant * 10**11, grant * 10**11 + STILL_NS
        load.learn(asks(taken_ns), Completion(type=OK, result=Granted(grant)))
        op = asks(late_ns - 1)
        if op is None:
            still += 1
            op = asks(late_ns)
        assert (op.f, op.argument) == (F.GUARDED, Token(token=grant)), "as if it held the lock"
        load.learn(op, Completion(type=FAIL))
        load.learn(asks(late_ns), Completion(type=OK))
    assert 8 <= still <= 40, "one in a hundred"
    assert STILL_NS > LEASE_MS * 1_000_000


def step(held, op):
    """A correct lock: (tokens given, holder's token or 0, version, when the lease ends)."""
    tokens, holder, version, ends_ns = held or (0, 0, 0, 0)
    if op.f is F.ACQUIRE:
        if holder and now_ns() < ends_ns:
            raise Definite("somebody holds the lock")
        ends_ns = now_ns() + op.argument.lease_ms * 1_000_000
        return (tokens + 1, tokens + 1, version, ends_ns), Granted(tokens + 1)
    if op.argument.token != holder:
        raise Definite("not held")
    if op.f is F.UNLOCK:
        return (tokens, 0, version, 0), None
    return (tokens, holder, version + 1, ends_ns), Written(version + 1)


def give_to_anybody(step, held, op):
    """A bug: the lock is granted whoever holds it."""
    if op.f is F.ACQUIRE and held is not None:
        held = (held[0], 0, held[2], 0)
    return step(held, op)


@pytest.mark.broad
@pytest.mark.parametrize("bug", [None, give_to_anybody], ids=["none", "anybody"])
def test_a_whole_run_on_a_fake(bug, tmp_path):
    done = run(tmp_path, FakeSystem(objects={"lock": step}, bug=bug), workload="lock", reports=())
    row = done.check("lock")
    assert (row.valid, "lock-held-twice" in row.anomalies) == (bug is None, bug is not None), row
