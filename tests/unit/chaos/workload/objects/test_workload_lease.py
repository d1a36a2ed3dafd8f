"""What clients of leases do next, when a place is free of them, and a whole run on a fake."""

import pytest
from final_steps import performed

from chaos.core.client import Definite
from chaos.core.clock import now_ns
from chaos.core.op import Completion, Type
from chaos.models.coordination.lease import Alive, F, Living, Term, Which
from chaos.storage.runinfo import Promises
from chaos.testing import FakeSystem, run
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.final import FinalSpec, Part
from chaos.workload.objects.lease import REFUSALS, RENEWALS, TTL_MS, LeaseLoad, LeaseWorkload

SPEC = LoadSpec(keys=3, clients=2, seed=1, body_bytes=8, op_timeout_s=1.0, operations=frozenset(F))
OK, FAIL, INFO = Type.OK, Type.FAIL, Type.INFO
ALIVE, REFUSED, LOST = (OK, Alive(TTL_MS)), (FAIL, None), (INFO, None)


def steps(*answers):
    """The steps of client 1 at place 2 when each is answered so: (word, argument)."""
    load, out = LeaseLoad(SPEC, LeaseWorkload.mix), []
    for number, (kind, result) in enumerate(answers):
        op = load.invocation(Arrival(number, F.RENEW, 1, 2), 7, 100)
        assert op is not None
        assert load.invocation(Arrival(number, F.REVOKE, 1, 2), 7, 100) is None, "an answer is out"
        assert load.invocation(Arrival(number, F.READ, 1, 2), 8, 100).f is F.READ, "a look waits for nobody"
        out.append((op.f, op.argument))
        load.learn(op, Completion(type=kind, result=result))
    return out


def taken(number):
    """The client's grant with this number, from 0."""
    return F.GRANT, Term(lease=2 * number + 1, ttl_ms=TTL_MS)


def renewed(number):
    return F.RENEW, Which(lease=2 * number + 1)


def test_leases_are_renewed_and_then_given_back_or_left_in_turn():
    first = [taken(0), *[renewed(0)] * RENEWALS, (F.REVOKE, Which(lease=1))]
    second = [taken(1), *[renewed(1)] * RENEWALS, taken(2)]
    assert steps(*[ALIVE] * len([*first, *second])) == [*first, *second]


def test_places_have_leases_of_their_own():
    load = LeaseLoad(SPEC, LeaseWorkload.mix)
    asked = [load.invocation(Arrival(0, F.GRANT, client, key), 7, 100) for client in (0, 1) for key in (0, 1)]
    assert [op.argument.lease for op in asked] == [0, 2, 1, 3]


@pytest.mark.parametrize("answer", [REFUSED, LOST, (Type.NOT_SENT, None), (INFO, Alive(TTL_MS))])
def test_who_does_not_know_that_it_was_granted_a_lease_takes_another(answer):
    assert steps(answer, answer) == [taken(0), taken(1)]


def test_a_renewal_in_doubt_or_refused_is_tried_again():
    answers = [ALIVE, *[REFUSED] * (REFUSALS - 1), LOST, *[REFUSED] * REFUSALS, ALIVE]
    assert steps(*answers) == [taken(0), *[renewed(0)] * (len(answers) - 2), taken(1)]


def test_a_revoke_that_never_left_is_asked_again():
    asked = steps(*[ALIVE] * (RENEWALS + 1), (Type.NOT_SENT, None), LOST, ALIVE)
    assert asked[-3:] == [(F.REVOKE, Which(lease=1)), (F.REVOKE, Which(lease=1)), taken(1)]


def last_looks():
    spec = FinalSpec(keys=2, op_timeout_s=1.0, operations=frozenset(F), promises=Promises())
    (phase,) = LeaseWorkload().final(spec)
    assert phase.parts() == (Part(0), Part(1))
    return phase


def test_at_the_end_a_place_is_looked_at_until_it_is_free():
    def answer(f, argument, at_s):
        assert (f, argument) == (F.READ, None)
        if at_s < 2:
            return Completion(type=INFO, error="no answer")
        return Completion(type=OK, result=Living([1, 2] if at_s < 4 else []))

    why, asked = performed(last_looks(), Part(0), answer)
    assert (why, len(asked)) == ("", 5)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Completion(type=OK, result=Living([1, 2])), "2 leases still live"),
        (Completion(type=INFO, error="no answer"), "no answer"),
    ],
)
def test_a_place_that_is_not_free_is_not_complete(answer, why):
    assert performed(last_looks(), Part(0), lambda *_: answer, limit_s=3.0)[0] == why


def step(held, op):
    """A correct service: lease → when it ends."""
    at_ns = now_ns()
    held = {lease: ends_ns for lease, ends_ns in (held or {}).items() if at_ns < ends_ns}
    if op.f is F.READ:
        return held, Living(sorted(held))
    lease = op.argument.lease
    if op.f is not F.GRANT and lease not in held:
        raise Definite("no such lease")
    if op.f is F.REVOKE:
        return {one: ends_ns for one, ends_ns in held.items() if one != lease}, None
    return held | {lease: at_ns + TTL_MS * 1_000_000}, Alive(TTL_MS)


def forget_renewals(step, held, op):
    """A bug: a renewal is acknowledged, and ends the lease half a second later."""
    held, answer = step(held, op)
    if op.f is F.RENEW:
        held = held | {op.argument.lease: now_ns() + 500_000_000}
    return held, answer


def keep_entries(step, held, op):
    """A bug: a lease that is given back is acknowledged and stays."""
    after, answer = step(held, op)
    return (held if op.f is F.REVOKE else after), answer


@pytest.mark.broad
@pytest.mark.parametrize(
    ("bug", "kind"), [(None, None), (forget_renewals, "lease-lost-early"), (keep_entries, "lease-outlived")]
)
def test_a_whole_run_on_a_fake(bug, kind, tmp_path):
    done = run(tmp_path, FakeSystem(objects={"lease": step}, bug=bug), workload="lease", reports=())
    row = done.check("lease")
    assert (row.valid, set(row.anomalies)) == (bug is None, {kind} - {None}), row
