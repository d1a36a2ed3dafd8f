"""What a client asks of a server to enqueue a message and to take one, and what it makes of the answers."""

import asyncio

import pytest
from scripted import raised_and_given
from system_view import view_of
from test_zookeeper_client import MARK, NO_NODE, op
from zookeeper_server import FakeServer, names, node, packed, srvr

from chaos.core.client import Definite, Indefinite
from chaos.models.queues.total_queue import STRANGE, F, Message, Taken
from cluster.systems.zookeeper.client import ZooKeeperClient
from cluster.systems.zookeeper.queues import TAKEN, TRIES
from cluster.systems.zookeeper.servers import Ensemble
from cluster.systems.zookeeper.system import ZooKeeper

QUEUE = f"/{MARK}/queues/3"
ENQUEUE, DEQUEUE = op(F.ENQUEUE, Message(value=41)), op(F.DEQUEUE)
SYNC, CHILDREN = ("sync", QUEUE), ("children", QUEUE)


def reads(name):
    return ("get", f"{QUEUE}/{name}")


def deletes(name):
    return ("delete", f"{QUEUE}/{name}", -1)


def by(**answers):
    """Answers by kind of request: a queue with two messages, and 0 to those that are not named."""
    told = {"sync": packed(QUEUE.encode()), "children": names("02", "01"), "get": node(b"41")} | answers
    return lambda kind, *_: told.get(kind, 0)


def run(one, answer, **settings):
    """What an operation raised, what it was given, and the requests."""

    async def scenario():
        async with FakeServer(answer, {"srvr": srvr("leader")}) as server:
            client = ZooKeeperClient(view_of(ZooKeeper(), **settings), -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, server.link)
            client._route._source = Ensemble({"z1": server.link})
            out, received = await raised_and_given(client, one)
            await client.close()
            return out, received.result, server.asked

    return asyncio.run(scenario())


def test_a_message_is_a_sequential_node():
    out, _, asked = run(ENQUEUE, by(create=packed(b"x")))
    assert (out, asked) == (None, [("create", f"{QUEUE}/", "41")])


@pytest.mark.parametrize(("answer", "kind"), [(NO_NODE, Definite), (-5, Indefinite), (StopIteration, Indefinite)])
def test_a_message_that_was_not_enqueued_or_perhaps(answer, kind):
    assert run(ENQUEUE, by(create=answer))[0][0] is kind


@pytest.mark.parametrize(("data", "value"), [(b"41", 41), (b"none of ours", STRANGE)])
def test_the_lowest_message_is_read_and_deleted(data, value):
    asked = [SYNC, CHILDREN, reads("01"), deletes("01")]
    assert run(DEQUEUE, by(get=node(data))) == (None, Taken(value), asked)


@pytest.mark.parametrize(
    ("sync", "first"), [("true", [SYNC]), ("write", [("set", f"/{MARK}/barrier", "", -1)]), ("false", [])]
)
def test_a_queue_without_messages_is_empty_after_a_sync(sync, first):
    assert run(DEQUEUE, by(children=names()), client__sync=sync) == (None, Taken(), [*first, CHILDREN])


def test_who_finds_a_message_gone_takes_the_next():
    gone = {reads("01"): NO_NODE, deletes("02"): NO_NODE}
    answer = by(children=names("01", "02", "03"))
    out, given, asked = run(DEQUEUE, lambda *asked: gone.get(tuple(asked), answer(*asked)))
    assert (out, given) == (None, Taken(41))
    assert asked[2:] == [reads("01"), reads("02"), deletes("02"), reads("03"), deletes("03")]


def test_who_finds_all_gone_was_given_nothing():
    many = names(*(f"{one:02}" for one in range(20)))
    out, given, asked = run(DEQUEUE, by(children=many, delete=NO_NODE))
    assert (out, given, len(asked)) == ((Definite, TAKEN), None, 2 + 2 * TRIES)


@pytest.mark.parametrize(
    ("answers", "kind", "given"),
    [
        ({"sync": -5}, Definite, None),
        ({"children": StopIteration}, Definite, None),
        ({"children": b"x"}, Definite, None),
        ({"get": StopIteration}, Definite, None),
        ({"get": b"x"}, Definite, None),
        ({"delete": -5}, Indefinite, Taken(41)),
        ({"delete": StopIteration}, Indefinite, Taken(41)),
        ({"delete": -102}, Definite, None),
    ],
)
def test_what_may_have_been_taken_is_given_and_nothing_else(answers, kind, given):
    out, result, _ = run(DEQUEUE, by(**answers))
    assert (out[0], result) == (kind, given)
