"""What a client sends to take, renew, end and look for leases, and what it makes of the answers."""

import asyncio

import msgspec
import pytest
from redis_server import FakeServer
from system_view import view_of
from test_redis_client import MARK, READONLY, Fixed, by, op

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.models.coordination.lease import MODEL, Alive, F, Living, Term, Which
from cluster.systems.redis.client import RedisClient
from cluster.systems.redis.leases import GONE, NOT_OURS, RENEW, TAKEN
from cluster.systems.redis.locks import REMOVE
from cluster.systems.redis.system import Redis

PLACE = f"{MARK}/leases/3"
OURS = f"{PLACE}/9"
GRANT, LOOK = op(F.GRANT, Term(lease=9, ttl_ms=4000)), op(F.READ)
EXTEND, END = (op(f, Which(lease=9)) for f in (F.RENEW, F.REVOKE))
SET = ("SET", OURS, "9", "NX", "PX", "4000")
SEEN = [[OURS, f"{PLACE}/12"], None]


def run(ops, answer, **settings):
    """What each operation was given or raised, and the requests that a server got."""

    async def scenario():
        async with FakeServer(answer) as server:
            view = view_of(Redis(), **settings)
            client = RedisClient(view, -1, 8, seed=1)
            client._links = {node.name: server.link for node in view.nodes}
            client._route._source = Fixed(3 if settings.get("cluster__mode") == "cluster" else 1)
            said = []
            for one in ops:
                received, out = Received(), None
                try:
                    await client.invoke(msgspec.structs.replace(one, deadline_ns=now_ns() + 5 * NS_PER_S), received)
                except (Definite, Indefinite) as error:
                    out = (type(error), str(error))
                said.append((out, received.result))
            await client.close()
            return said, server.asked

    return asyncio.run(scenario())


def test_a_lease_is_taken_renewed_and_ended_under_its_number():
    said, asked = run([GRANT, EXTEND, END], by(EVAL=1))
    assert said == [(None, Alive(4000)), (None, Alive(4000)), (None, None)]
    assert asked == [[SET], [("EVAL", RENEW, "1", OURS, "9", "4000")], [("EVAL", REMOVE, "1", OURS, "9")]]


@pytest.mark.parametrize(
    ("wait", "commands"),
    [
        ("0", [("MULTI",), ("KEYS", f"{PLACE}/*"), ("GETEX", f"{PLACE}-looks"), ("EXEC",)]),
        ("2", [("MULTI",), ("KEYS", f"{PLACE}/*"), ("INCR", f"{PLACE}-looks"), ("EXEC",)]),
    ],
)
@pytest.mark.parametrize("replica_reads", ["on", "off"])
def test_only_a_master_is_looked_at(wait, commands, replica_reads):
    answer = by(EXEC=SEEN, WAIT=2)
    ((out, seen),), ((*sent,),) = run([LOOK], answer, client__wait=wait, client__replicaReads=replica_reads)
    assert (out, seen, sent[:4]) == (None, Living([9, 12]), commands)
    assert [command[0] for command in sent[4:]] == ([] if wait == "0" else ["WAIT"])


@pytest.mark.parametrize(
    ("one", "answer", "out"),
    [
        (GRANT, by(SET=None), (Definite, TAKEN)),
        (GRANT, by(SET="x"), (Indefinite, "malformed answer: x is no answer to SET")),
        (EXTEND, by(EVAL=0), (Definite, GONE)),
        (EXTEND, by(EVAL="x"), (Indefinite, "malformed answer: invalid literal for int() with base 10: 'x'")),
        (END, by(EVAL=0), (Definite, GONE)),
        (END, by(EVAL="x"), (Indefinite, "malformed answer: invalid literal for int() with base 10: 'x'")),
        (LOOK, by(EXEC=["x", None]), (Definite, "malformed answer: x is no list")),
        (LOOK, by(EXEC=[["x"], None]), (Definite, "malformed answer: invalid literal for int() with base 10: 'x'")),
    ],
)
def test_what_a_server_says_of_a_lease(one, answer, out):
    said, _ = run([one] if one in (GRANT, LOOK) else [GRANT, one], answer)
    assert said[-1] == (out, None)


@pytest.mark.parametrize("one", [GRANT, EXTEND, END, LOOK], ids=lambda one: one.f.word)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [(READONLY, Definite), (ValueError("ERR x"), Indefinite), (StopIteration, Indefinite)],
    ids=["replica", "error", "closed"],
)
def test_what_is_certain_and_what_is_not(one, answer, kind):
    """A refused look has failed, whatever the reason; it is one attempt in any case."""
    granted = one in (EXTEND, END)

    def answers(command):
        return "OK" if command == SET and granted else answer

    said, asked = run([GRANT, one] if granted else [one], answers)
    assert len(asked) == 1 + granted
    (raised, _), given = said[-1]
    assert (raised, given) == (Definite if one is LOOK and answer is not StopIteration else kind, None)


@pytest.mark.parametrize("one", [EXTEND, END], ids=lambda one: one.f.word)
def test_the_lease_of_somebody_else_is_not_touched(one):
    assert run([one], by()) == ([((Definite, NOT_OURS), None)], [])


@pytest.mark.parametrize(
    ("one", "result", "kind"),
    [
        (GRANT, Alive(4000), Indefinite),
        (EXTEND, Alive(4000), Indefinite),
        (END, None, Indefinite),
        (LOOK, Living([9, 12]), Definite),
    ],
    ids=lambda one: one.f.word if hasattr(one, "f") else "",
)
def test_what_too_few_replicas_confirm_is_in_doubt(one, result, kind):
    said, _ = run([GRANT, one], by(EVAL=1, WAIT=1, EXEC=SEEN), client__wait="2")
    assert said[-1] == ((kind, "1 of 2 replicas have confirmed it"), result)


def test_what_is_refused_needs_no_confirmation():
    assert run([GRANT], by(SET=None, WAIT=0), client__wait="2")[0] == [((Definite, TAKEN), None)]


def test_all_keys_of_a_place_are_in_one_slot():
    _, (granted, looked) = run([GRANT, LOOK], by(EXEC=SEEN), cluster__mode="cluster")
    keys = [granted[0][1], looked[1][1], looked[2][1]]
    assert len({key[: key.index("}") + 1] for key in keys}) == 1
    assert all(Redis().operations(MODEL, {"cluster.mode": mode}) == frozenset(F) for mode in ("sentinel", "cluster"))
