"""What a client sends to take, use and give back a lock, and what it makes of the answers."""

import pytest
from test_redis_client import MARK, READONLY, by, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.lock import F, Granted, Lease, Token, Written
from cluster.systems.redis.locks import ACQUIRE, FENCED, GUARDED, REMOVE

KEY = f"{MARK}/locks/3"
TAKE, WRITE, GIVE = op(F.ACQUIRE, Lease(lease_ms=1500)), op(F.GUARDED, Token(token=9)), op(F.UNLOCK, Token(token=9))


@pytest.mark.parametrize(
    ("one", "settings", "command", "result"),
    [
        (TAKE, {}, (ACQUIRE, "2", KEY, f"{KEY}/token", "1500"), Granted(6)),
        (WRITE, {}, (FENCED, "2", f"{KEY}/guarded", f"{KEY}/version", "9"), Written(6)),
        (WRITE, {"client__fencing": "false"}, (GUARDED, "2", f"{KEY}/guarded", f"{KEY}/version", "9"), Written(6)),
        (GIVE, {}, (REMOVE, "1", KEY, "9"), None),
    ],
    ids=["acquire", "fenced", "unfenced", "unlock"],
)
def test_each_operation_is_one_script(one, settings, command, result):
    assert run(one, by(EVAL=6), **settings) == (None, result, [[("EVAL", *command)]])


@pytest.mark.parametrize("one", [TAKE, WRITE, GIVE], ids=lambda one: one.f.word)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (by(EVAL=0), Definite),
        (lambda _: READONLY, Definite),
        (by(EVAL="x"), Indefinite),
        (lambda _: StopIteration, Indefinite),
    ],
    ids=["no", "replica", "malformed", "closed"],
)
def test_what_is_certain_and_what_is_not(one, answer, kind):
    out, result, asked = run(one, answer)
    assert (out[0], result, len(asked)) == (kind, None, 1)


@pytest.mark.parametrize(("one", "result"), [(TAKE, Granted(6)), (WRITE, Written(6)), (GIVE, None)])
def test_what_too_few_replicas_confirm_is_in_doubt(one, result):
    out, found, _ = run(one, by(EVAL=6, WAIT=1), client__wait="2")
    assert (out, found) == ((Indefinite, "1 of 2 replicas have confirmed it"), result)


def test_keys_of_a_lock_are_in_one_slot():
    _, _, ((command,),) = run(TAKE, by(EVAL=6), cluster__mode="cluster")
    tags = {name[: name.index("}") + 1] for name in command[3:5]}
    assert len(tags) == 1
