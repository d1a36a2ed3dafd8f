"""What a client asks of a node for each operation, and what it makes of the answers."""

import asyncio

import msgspec
import pytest
from rabbit_server import (
    DECLARED,
    EMPTY,
    GET,
    PUBLISH,
    SELECT,
    SELECTED,
    SETTLE,
    FakeRabbit,
    ack,
    closed,
    delivered,
    returned,
)
from rabbit_server import nack as nacked
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.queues.total_queue import F, Message, Taken
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.rabbitmq import amqp
from cluster.systems.rabbitmq.client import RabbitClient
from cluster.systems.rabbitmq.system import RabbitMQ

QUEUE = f"{view_of(RabbitMQ()).mark}-3"
ENQUEUE = Invocation(process=17, client=0, f=F.ENQUEUE, key=3, deadline_ns=0, argument=Message(value=41))
DEQUEUE = Invocation(process=17, client=0, f=F.DEQUEUE, key=3, deadline_ns=0, argument=None)


class Fixed:
    """A route that is always the same."""

    async def ask(self, deadline_ns):
        return Route((Served("n2", ("n1", "n3")),))

    def close(self):
        pass


async def done(server, one, timeout_ns=5 * NS_PER_S):
    """What an operation raised, and what it was given."""
    view = view_of(RabbitMQ())
    client, received, out = RabbitClient(view, -1, 8, seed=1), Received(), None
    client._links = {node.name: server.link for node in view.nodes}
    client._route._source = Fixed()
    try:
        await client.invoke(msgspec.structs.replace(one, deadline_ns=now_ns() + timeout_ns), received)
    except (Definite, Indefinite) as error:
        out = (type(error), str(error))
    finally:
        await client.close()
    return out, received.result


def run(one, answers, timeout_ns=5 * NS_PER_S):
    """What an operation raised and was given, and the methods that were asked."""

    async def scenario():
        async with FakeRabbit(answers) as server:
            out, result = await done(server, one, timeout_ns)
            return out, result, [which for which, _ in server.asked]

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("one", "answers", "raised", "result", "asked"),
    [
        (ENQUEUE, {PUBLISH: ack()}, None, None, [PUBLISH]),
        (ENQUEUE, {PUBLISH: nacked()}, (Indefinite, "nack"), None, [PUBLISH]),
        (ENQUEUE, {PUBLISH: returned(312, "NO_ROUTE")}, (Definite, "returned 312 NO_ROUTE"), None, [PUBLISH]),
        (ENQUEUE, {PUBLISH: closed(541, "INTERNAL")}, (Indefinite, "541 INTERNAL"), None, [PUBLISH]),
        (ENQUEUE, {PUBLISH: StopIteration}, (Indefinite, "connection closed by the server"), None, [PUBLISH]),
        (DEQUEUE, {GET: EMPTY}, None, Taken(), [GET]),
        (DEQUEUE, {GET: delivered(b"41"), SELECT: SELECTED}, None, Taken(41), [GET, SETTLE, SELECT]),
        (
            DEQUEUE,
            {GET: delivered(b"41", again=True), SELECT: SELECTED},
            None,
            Taken(41, again=True),
            [GET, SETTLE, SELECT],
        ),
        (DEQUEUE, {GET: closed(404, "NOT_FOUND")}, (Definite, "404 NOT_FOUND"), None, [GET]),
        (DEQUEUE, {GET: StopIteration}, (Indefinite, "connection closed by the server"), None, [GET]),
        (
            DEQUEUE,
            {GET: delivered(b"41"), SETTLE: closed(406, "unknown delivery tag")},
            (Indefinite, "406 unknown delivery tag"),
            Taken(41),
            [GET, SETTLE, SELECT],
        ),
        (
            DEQUEUE,
            {GET: delivered(b"41"), SETTLE: StopIteration},
            (Indefinite, "connection closed by the server"),
            Taken(41),
            [GET, SETTLE],
        ),
    ],
)
def test_what_is_asked_and_what_comes_of_it(one, answers, raised, result, asked):
    assert run(one, answers) == (raised, result, asked)


@pytest.mark.parametrize(("one", "first"), [(ENQUEUE, PUBLISH), (DEQUEUE, GET)])
def test_without_an_answer_nobody_knows(one, first):
    assert run(one, {}, 2 * NS_PER_S) == ((Indefinite, NO_ANSWER), None, [first])


def test_a_message_is_noted_though_its_acknowledgement_has_no_answer():
    raised, result, _ = run(DEQUEUE, {GET: delivered(b"41")}, 2 * NS_PER_S)
    assert (raised, result) == ((Indefinite, NO_ANSWER), Taken(41))


@pytest.mark.parametrize(("one", "first"), [(ENQUEUE, PUBLISH), (DEQUEUE, GET)])
def test_one_attempt_at_a_node_that_is_paused(one, first):
    async def scenario():
        async with FakeRabbit({PUBLISH: ack(), GET: delivered(b"1"), SELECT: SELECTED}) as server:
            server.paused = True
            out, _ = await done(server, one, 2 * NS_PER_S)
            server.resumed.set()
            await server.heard.wait()
            return out, [which for which, _ in server.asked], server.connections

    async def bounded():
        async with asyncio.timeout(10):
            return await scenario()

    out, asked, connections = asyncio.run(bounded())
    assert (out, asked.count(first), connections) == ((Indefinite, NO_ANSWER), 1, 1)
    assert SETTLE not in asked, "a message that nobody heard is acknowledged by nobody"


def test_a_connection_on_which_something_is_open_is_not_used_again():
    async def scenario():
        async with FakeRabbit({GET: EMPTY, PUBLISH: ack()}) as server:
            await done(server, DEQUEUE)
            server.link = type(server.link)("127.0.0.1", server.link._port)
            for answers in ({GET: EMPTY}, {GET: closed(404, "x")}, {GET: EMPTY}, {GET: StopIteration}):
                server.answers = answers
                try:
                    await server.link.take("q", now_ns() + NS_PER_S, print)
                except Indefinite:
                    assert answers[GET] is StopIteration
            return server.connections

    assert asyncio.run(scenario()) == 1 + 2, "the refusal closed one"


def test_the_queue_and_the_body_are_those_of_the_operation():
    async def scenario():
        async with FakeRabbit({PUBLISH: ack()}) as server:
            await done(server, ENQUEUE)
            return server.asked

    ((_, arguments),) = asyncio.run(scenario())
    assert arguments == b"\0\0" + amqp.short("") + amqp.short(QUEUE) + b"\1"
    assert amqp.encode(amqp.Publish(QUEUE, b"41")).endswith(amqp.frame(3, 1, b"41"))


def test_an_answer_is_read_however_it_is_cut():
    codec = amqp.Amqp()
    codec.encode(7, amqp.Get("q"))
    data = amqp.frame(8, 0, b"") + delivered(b"12345", 9)
    answers = [one for at in range(len(data)) for one in codec.feed(data[at : at + 1])]
    assert answers == [(7, amqp.Delivered(9, again=False, body=b"12345"))]


@pytest.mark.parametrize("data", [DECLARED, b"AMQP\0\0\x09\1", b"\1\0\0\0\0\0\4abcdX", b"\5\0\0\0\0\0\0\xce"])
def test_what_nobody_asked_for_ends_the_connection(data):
    with pytest.raises(amqp.Malformed):
        amqp.Amqp().feed(data)
