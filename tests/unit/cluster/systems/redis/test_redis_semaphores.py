"""What a client sends to take a permit and to give it back, and what it makes of the answers."""

import pytest
from test_redis_client import MARK, READONLY, by, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.semaphore import F, Permit, Wanted
from cluster.systems.redis.semaphores import ACQUIRE

KEY = f"{MARK}/permits/3"
TAKE, GIVE = op(F.ACQUIRE, Wanted(lease_ms=1500, permits=2)), op(F.GIVE_BACK, Permit(9))
BOTH = pytest.mark.parametrize("one", [TAKE, GIVE], ids=lambda one: one.f.word)


def test_a_permit_is_taken_by_one_script():
    command = ("EVAL", ACQUIRE, "2", KEY, f"{KEY}/permit", "1500", "2")
    assert run(TAKE, by(EVAL=6)) == (None, Permit(6), [[command]])


def test_a_permit_is_given_back_by_its_number():
    assert run(GIVE, by(ZREM=1)) == (None, None, [[("ZREM", KEY, "9")]])


@BOTH
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda _: 0, Definite),
        (lambda _: READONLY, Definite),
        (lambda _: "x", Indefinite),
        (lambda _: StopIteration, Indefinite),
    ],
    ids=["no", "replica", "malformed", "closed"],
)
def test_what_is_certain_and_what_is_not(one, answer, kind):
    out, result, asked = run(one, answer)
    assert (out[0], result, len(asked)) == (kind, None, 1)


@pytest.mark.parametrize(("one", "result"), [(TAKE, Permit(1)), (GIVE, None)])
def test_what_too_few_replicas_confirm_is_in_doubt(one, result):
    out, found, _ = run(one, by(EVAL=1, ZREM=1, WAIT=1), client__wait="2")
    assert (out, found) == ((Indefinite, "1 of 2 replicas have confirmed it"), result)


def test_what_is_refused_needs_no_confirmation():
    assert run(TAKE, by(EVAL=0, WAIT=0), client__wait="2")[0] == (Definite, "all permits are held")
    assert run(GIVE, by(ZREM=0, WAIT=0), client__wait="2")[0] == (Definite, "the permit is not held")
