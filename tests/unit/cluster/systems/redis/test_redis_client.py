"""What a client sends for each operation, and what it makes of the answers."""

import asyncio

import msgspec
import pytest
from redis_server import FakeServer
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.coordination import unique_ids
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.redis.client import RedisClient
from cluster.systems.redis.system import Redis

MARK = view_of(Redis()).mark
KEY = f"{MARK}/registers/3"
READONLY = ValueError("READONLY You can't write against a read only replica.")


def op(f, argument=None, key=3):
    return Invocation(process=17, client=0, f=f, key=key, deadline_ns=0, argument=argument)


READ, WRITE = op(register.F.READ), op(register.F.WRITE, register.Write(value=4))
CAS = op(register.F.CAS, register.Cas(expected=2, value=4))


class Fixed:
    """A route that is always the same."""

    def __init__(self, shards):
        self.shards = shards

    async def ask(self, deadline_ns):
        return Route(tuple(Served(f"r{shard + 1}", ()) for shard in range(self.shards)))

    def close(self):
        pass


def run(one, answer, **settings):
    """What an operation was given or raised, and the commands that a server got."""

    async def scenario():
        async with FakeServer(answer) as server:
            view = view_of(Redis(), **settings)
            client = RedisClient(view, -1, 8, seed=1)
            client._links = {node.name: server.link for node in view.nodes}
            client._route._source = Fixed(3 if settings.get("cluster__mode") == "cluster" else 1)
            received, out = Received(), None
            try:
                await client.invoke(msgspec.structs.replace(one, deadline_ns=now_ns() + 5 * NS_PER_S), received)
            except (Definite, Indefinite) as error:
                out = (type(error), str(error))
            await client.close()
            return out, received.result, server.asked

    return asyncio.run(scenario())


def by(**replies):
    """Answers by command; PING stands for whatever is not named."""
    return lambda command: replies.get(command[0], "OK")


@pytest.mark.parametrize(
    ("one", "reply", "command", "result"),
    [
        (READ, {"GETEX": None}, ("GETEX", KEY), Found(None)),
        (READ, {"GETEX": "4"}, ("GETEX", KEY), Found(4)),
        (WRITE, {}, ("SET", KEY, "4"), None),
        (op(sets.F.ADD, sets.Add(element=7)), {"SADD": 1}, ("SADD", f"{MARK}/sets/3", "7"), None),
        (op(counter.F.ADD, counter.Add(amount=-2)), {"INCRBY": 5}, ("INCRBY", f"{MARK}/counters/3", "-2"), None),
        (op(unique_ids.F.GENERATE), {"INCR": 6}, ("INCR", f"{MARK}/ids/3"), unique_ids.Id(6)),
        (op(counter.F.READ), {"GETEX": "-2"}, ("GETEX", f"{MARK}/counters/3"), Found(-2)),
    ],
)
def test_an_operation_is_one_command(one, reply, command, result):
    assert run(one, by(**reply)) == (None, result, [[command]])


def test_a_set_is_read_where_a_write_would_be_taken():
    out, result, asked = run(op(sets.F.READ), by(EXEC=[["7", "5"], None]))
    assert (out, result) == (None, sets.Elements([7, 5]))
    key = f"{MARK}/sets/3"
    assert asked == [[("MULTI",), ("SMEMBERS", key), ("GETEX", f"{key}/confirmed"), ("EXEC",)]]


@pytest.mark.parametrize(("held", "out"), [(1, None), (0, (Definite, "the comparison does not hold"))])
def test_compare_and_set_is_one_script(held, out):
    said, _, ((command,),) = run(CAS, by(EVAL=held))
    assert said == out
    assert (command[0], *command[2:]) == ("EVAL", "1", KEY, "2", "4")


@pytest.mark.parametrize("one", [READ, WRITE, CAS], ids=lambda one: one.f.word)
def test_a_replica_takes_no_part(one):
    out, result, _ = run(one, lambda _: READONLY)
    assert (out, result) == ((Definite, str(READONLY)), None)


@pytest.mark.parametrize("one", [READ, WRITE, op(unique_ids.F.GENERATE)], ids=lambda one: one.f.word)
def test_a_lost_connection_leaves_an_operation_in_doubt(one):
    out, _, asked = run(one, lambda _: StopIteration)
    assert out[0] is Indefinite
    assert len(asked) == 1, "nothing is sent again"


WAITED = [
    (WRITE, 2, None, None),
    (WRITE, 1, (Indefinite, "1 of 2 replicas have confirmed it"), None),
    (WRITE, ValueError("UNBLOCKED force unblock"), (Indefinite, "UNBLOCKED force unblock"), None),
    (op(unique_ids.F.GENERATE), 2, None, unique_ids.Id(6)),
    (op(unique_ids.F.GENERATE), 1, (Indefinite, "1 of 2 replicas have confirmed it"), unique_ids.Id(6)),
    (READ, 2, None, Found(4)),
    (READ, 0, (Definite, "0 of 2 replicas have confirmed it"), Found(4)),
]


@pytest.mark.parametrize(("one", "confirmed", "out", "result"), WAITED)
def test_with_wait_an_operation_counts_once_replicas_have_confirmed_it(one, confirmed, out, result):
    said, found, (commands,) = run(one, by(WAIT=confirmed, EXEC=["4", 9], INCR=6), client__wait="2")
    assert (said, found) == (out, result)
    (*rest, wait) = commands
    assert wait[:2] == ("WAIT", "2")
    assert 0 < int(wait[2]) < 5000, "the server gives up before the client does"
    if one is READ:
        assert rest == [("MULTI",), ("GET", KEY), ("INCR", f"{KEY}/confirmed"), ("EXEC",)]


def test_a_compare_and_set_that_does_not_hold_needs_no_confirmation():
    assert run(CAS, by(EVAL=0, WAIT=0), client__wait="2")[0] == (Definite, "the comparison does not hold")


def test_reads_may_be_asked_of_a_servers_own_copy():
    _, result, asked = run(READ, by(GET="4"), client__replicaReads="on", client__wait="1")
    assert (result, asked) == (Found(4), [[("GET", KEY)]])


def test_keys_of_a_cluster_carry_the_tag_of_their_shard():
    keys = [run(op(register.F.READ, key=key), by(GETEX=None), cluster__mode="cluster")[2][0][0][1] for key in (0, 1, 2)]
    assert keys == [f"{{{tag}}}/{MARK}/registers/{key}" for key, tag in enumerate(("3", "1", "0"))]


@pytest.mark.parametrize(
    "one",
    [READ, WRITE, CAS, op(sets.F.ADD, sets.Add(element=7)), op(counter.F.READ), op(unique_ids.F.GENERATE)],
    ids=lambda one: type(one.f).__module__.rpartition(".")[2] + one.f.word,
)
def test_a_paused_server_gets_each_request_once(one):
    """It reads nothing until the operation is over; then it finds one request, and the next on another connection."""

    async def scenario():
        async with FakeServer(lambda _: None) as server:
            server.paused, out = True, []
            view = view_of(Redis())
            client = RedisClient(view, -1, 8, seed=1)
            client._links = {node.name: server.link for node in view.nodes}
            client._route._source = Fixed(1)
            for _ in range(2):
                with pytest.raises((Definite, Indefinite)) as error:
                    await client.invoke(msgspec.structs.replace(one, deadline_ns=now_ns() + NS_PER_S // 12), Received())
                out.append(str(error.value))
            await client.close()
            server.link.close()
            server.resumed.set()
            await server.heard_out()
            return out, len(server.asked), server.connections

    assert asyncio.run(scenario()) == ([NO_ANSWER] * 2, 2, 2)
