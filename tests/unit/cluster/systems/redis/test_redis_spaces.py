"""What a client sends to change and to read the keys of a space, and what it makes of the answers."""

import pytest
from test_redis_client import MARK, READONLY, by, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.kv import MODEL, Answer, Change, Changes, F, Held, Keys
from cluster.systems.redis.system import Redis

KEY = f"{MARK}/kv/3/1"
PUT = op(F.PUT, Changes(changes=(Change(5, 40),)))
DELETE = op(F.DELETE, Changes(changes=(Change(5),)))
TXN = op(F.TXN, Changes(changes=(Change(5, 40), Change(6))))
GET, RANGE = op(F.GET, Keys(first=5)), op(F.RANGE, Keys(first=4, count=4))
TOUCH = ("GETEX", f"{KEY}/confirmed")


def queued(*replies):
    return lambda command: {"MULTI": "OK", "EXEC": list(replies)}.get(command[0], "QUEUED")


@pytest.mark.parametrize(
    ("one", "reply", "command", "result"),
    [
        (PUT, {"HSET": 1}, ("HSET", KEY, "5", "40"), Answer(effects=1)),
        (PUT, {"HSET": 0}, ("HSET", KEY, "5", "40"), Answer(effects=1)),
        (DELETE, {"HDEL": 1}, ("HDEL", KEY, "5"), Answer(effects=1)),
        (DELETE, {"HDEL": 0}, ("HDEL", KEY, "5"), Answer(effects=0)),
    ],
)
def test_a_change_is_one_command(one, reply, command, result):
    assert run(one, by(**reply)) == (None, result, [[command]])


def test_a_transaction_is_done_at_once():
    out = run(TXN, queued(1, 0))
    assert out[:2] == (None, Answer(effects=0b01))
    assert [one for own in out[2] for one in own] == [
        ("MULTI",),
        ("HSET", KEY, "5", "40"),
        ("HDEL", KEY, "6"),
        ("EXEC",),
    ]


@pytest.mark.parametrize(
    ("one", "reply", "command", "result"),
    [
        (GET, "40", ("HGET", KEY, "5"), Answer(held=[Held(5, 40)])),
        (GET, None, ("HGET", KEY, "5"), Answer()),
        (RANGE, ["5", "40", "7", "41"], ("HGETALL", KEY), Answer(held=[Held(5, 40), Held(7, 41)])),
        (RANGE, [], ("HGETALL", KEY), Answer()),
    ],
)
def test_a_read_is_answered_by_a_master_alone(one, reply, command, result):
    out = run(one, queued(reply, None))
    assert out[:2] == (None, result)
    assert [one for own in out[2] for one in own] == [("MULTI",), command, TOUCH, ("EXEC",)]


@pytest.mark.parametrize("one", [PUT, DELETE, TXN, GET, RANGE], ids=lambda one: one.f.word)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [(lambda _: READONLY, Definite), (lambda _: StopIteration, Indefinite)],
    ids=["replica", "closed"],
)
def test_what_is_certain_and_what_is_not(one, answer, kind):
    out, result, _ = run(one, answer)
    assert (out[0], result) == (kind, None)


@pytest.mark.parametrize(
    ("one", "reply", "kind"),
    [(TXN, queued("x", "x"), Indefinite), (DELETE, by(HDEL="x"), Indefinite), (RANGE, queued("x", None), Definite)],
    ids=lambda one: getattr(getattr(one, "f", None), "word", ""),
)
def test_a_strange_answer_leaves_a_change_in_doubt(one, reply, kind):
    out, result, _ = run(one, reply)
    assert (out[0], result) == (kind, None)


def test_what_too_few_replicas_confirm_is_in_doubt():
    out, result, _ = run(PUT, by(HSET=1, WAIT=1), client__wait="2")
    assert (out, result) == ((Indefinite, "1 of 2 replicas have confirmed it"), Answer(effects=1))


def test_there_are_no_revisions_to_compare():
    assert F.COMPARE_PUT not in Redis().operations(MODEL, {})
