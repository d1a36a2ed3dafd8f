"""Messages taken from a Shared subscription, one at a time, and queues without offsets made of them."""

import asyncio

import pytest
from pulsar_broker import FakeBroker, FakeWeb, command, given
from scripted import raised_and_given
from system_view import view_of

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.queues.total_queue import STRANGE, F, Message, Taken
from cluster.systems._shared import link
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.pulsar import brokers as brokers_module
from cluster.systems.pulsar import client as client_module
from cluster.systems.pulsar import consuming as consuming_module
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.brokers import Way, topic_name
from cluster.systems.pulsar.client import PulsarClient, value_in
from cluster.systems.pulsar.consuming import Consumer, Consumers
from cluster.systems.pulsar.positions import MessageId
from cluster.systems.pulsar.protobuf import number_in, text_in
from cluster.systems.pulsar.system import Pulsar
from cluster.systems.pulsar.web import Web
from cluster.systems.pulsar.wire import body_of, id_in

VIEW = view_of(Pulsar())
STATS = f"/admin/v2/persistent/public/default/{topic_name(VIEW.mark, 3)}/stats?getPreciseBacklog=true"


def op(f, argument=None):
    return Invocation(process=17, client=0, f=f, key=3, deadline_ns=0, argument=argument)


MOVED = command(wire.ERROR, (1, 2), (2, 6), (3, "moved"))
ENQUEUE, DEQUEUE = op(F.ENQUEUE, Message(value=5)), op(F.DEQUEUE)


def backlog(many):
    return {STATS: {"subscriptions": {"chaos": {"msgBacklog": many, "type": "Shared"}}}}


class Fixed:
    """A route that is always the same."""

    async def ask(self, deadline_ns):
        return Route((Served("b2", ("b1", "b3")),))

    def close(self):
        pass


@pytest.fixture
def run(monkeypatch):
    """Perform operations one after another at a broker; what each raised and was given, and the broker."""
    monkeypatch.setattr(brokers_module, "GREETED_S", 30.0)  # a busy machine may take longer than a client waits
    monkeypatch.setattr(link, "CONNECT_TIMEOUT_S", 30.0)
    monkeypatch.setattr(consuming_module, "PATIENCE_NS", NS_PER_S // 50)

    def perform(*ops, answer=lambda *_: None, pages=None, timeout_ns=30 * NS_PER_S, heard=lambda _: None):
        async def scenario():
            async with FakeBroker(answer, heard) as broker, FakeWeb({} if pages is None else pages) as web:

                def consumer(host, topic, _):
                    return Consumer("127.0.0.1", topic, Web("127.0.0.1", web.port), broker.port)

                monkeypatch.setattr(client_module, "Consumer", consumer)
                monkeypatch.setattr(
                    client_module, "Way", lambda host, topic: Way("127.0.0.1", broker.port, topic=topic)
                )
                client = PulsarClient(VIEW, -1, 8, seed=1)
                client._route._source = Fixed()
                done = [await raised_and_given(client, one, timeout_ns) for one in ops]
                await client.close()
                await broker.heard_out()
                return [(out, received.result) for out, received in done], broker

        return asyncio.run(scenario())

    return perform


def giving(*messages):
    """A broker that gives these, one a permit."""
    left = [*messages]

    def answer(name, number):
        return (left.pop(0) if left else b"") if name == "flow" else None

    return answer


def asked(broker, kind):
    return [one for one in broker.commands if one.kind == kind]


def test_an_enqueue_is_one_message(run):
    done, broker = run(ENQUEUE)
    assert (done, broker.asked) == ([(None, None)], ["connect", "producer", "send"])
    assert body_of(broker.commands[-1].payload) == b"5"


def test_a_message_is_noted_and_acknowledged(run):
    done, broker = run(DEQUEUE, answer=giving(given(7, 2, b"41")))
    assert (done, broker.asked) == ([(None, Taken(41))], ["connect", "subscribe", "flow", "ack"])
    hello, subscribe, flow, ack = broker.commands
    assert number_in(hello.fields, 4) == 1, "a broker pings clients of version 1, and finds those that are gone"
    assert text_in(subscribe.fields, 1) == f"persistent://public/default/{VIEW.mark}-3"
    assert [number_in(subscribe.fields, field, 9) for field in (3, 13)] == [1, 1], "Shared, from the first message on"
    assert number_in(flow.fields, 2) == 1
    assert (id_in(ack.fields, 3), number_in(ack.fields, 2, 9)) == (MessageId(7, 2), 0)


def test_a_consumer_that_was_answered_takes_the_next_message_too(run):
    messages = (given(7, 2, b"41"), given(7, 3, b"42", before=1))
    done, broker = run(DEQUEUE, DEQUEUE, answer=giving(*messages))
    assert [result for _, result in done] == [Taken(41), Taken(42, again=True)]
    assert (broker.connections, broker.asked.count("subscribe"), broker.asked.count("ack")) == (1, 1, 2)


def test_a_consumer_that_was_idle_for_long_is_not_used_again(run, monkeypatch):
    monkeypatch.setattr(consuming_module, "_STALE_NS", 0)
    done, broker = run(DEQUEUE, DEQUEUE, answer=giving(given(7, 2, b"41"), given(7, 3, b"42")))
    assert ([result for _, result in done], broker.connections) == ([Taken(41), Taken(42)], 2)


def test_a_queue_is_empty_when_the_owner_says_that_all_is_acknowledged(run):
    done, broker = run(DEQUEUE, DEQUEUE, pages=backlog(0))
    assert done == [(None, Taken())] * 2
    assert (broker.connections, broker.asked.count("flow")) == (1, 1), "a permit that brought nothing stays good"


def test_what_came_to_a_consumer_that_had_found_nothing_is_taken_next(run):
    late = []

    class Pages(dict):
        def get(self, path, default=None):
            if late:
                late.pop().write(given(7, 2, b"41"))  # it comes behind the answer that all is acknowledged
            return backlog(0)[path]

    done, broker = run(DEQUEUE, DEQUEUE, DEQUEUE, pages=Pages(), heard=late.append)
    assert Taken(41) in [result for _, result in done[:2]]
    assert (broker.connections, broker.asked.count("ack")) == (1, 1)
    assert broker.asked.count("flow") == 2, "the permit was used up"


def test_a_consumer_that_nobody_uses_is_closed(monkeypatch):
    """What came to it meanwhile goes to others, though nobody ever asks this client again."""
    monkeypatch.setattr(consuming_module, "_STALE_NS", NS_PER_S // 50)
    monkeypatch.setattr(consuming_module, "_LOOK_S", 0.01)

    async def scenario():
        async with FakeBroker(giving(given(7, 2, b"41"))) as broker, FakeWeb({}) as web:
            consumers = Consumers(lambda: Consumer("127.0.0.1", "t", Web("127.0.0.1", web.port), broker.port))
            heard = []
            await consumers.take(now_ns() + 30 * NS_PER_S, heard.append)
            before = len(consumers._idle)
            async with asyncio.timeout(30):
                await broker.heard_out()
            after = len(consumers._idle)
            consumers.close()
            return [one.body for one in heard], before, after, consumers._closing

    assert asyncio.run(scenario()) == ([b"41"], 1, 0, None)


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        (backlog(1), NO_ANSWER),
        ({}, "backlog: status 404"),
        ({STATS: {"subscriptions": {}}}, "backlog: no such subscription"),
        ({STATS: b"?"}, "malformed answer"),
    ],
)
def test_a_queue_is_not_empty_because_no_message_came(run, pages, why):
    ((out, result),), _ = run(DEQUEUE, pages=pages, timeout_ns=2 * NS_PER_S)
    assert (out[0], why in out[1], result) == (Indefinite, True, None)


def test_a_message_that_comes_late_is_taken(run):
    """It comes when the owner is asked how many there are."""
    late = []

    class Pages(dict):
        def get(self, path, default=None):
            late.pop().write(given(7, 2, b"41"))
            return backlog(1)[path]

    done, _ = run(DEQUEUE, pages=Pages(), heard=late.append)
    assert done == [(None, Taken(41))]


@pytest.mark.parametrize("name", ["connect", "subscribe"])
@pytest.mark.parametrize(
    "said",
    [StopIteration, b"\xff" * 8, command(wire.ERROR, (1, 2), (2, 6), (3, "moved"))],
    ids=["end", "junk", "error"],
)
def test_who_was_let_in_nowhere_was_given_nothing(run, name, said):
    ((out, result),), broker = run(DEQUEUE, answer=lambda asked, _: said if asked == name else None)
    assert (out[0], result, "flow" in broker.asked) == (Definite, None, False)


@pytest.mark.parametrize("said", [StopIteration, b"\xff" * 8, MOVED], ids=["end", "junk", "error"])
def test_who_permitted_a_message_may_have_been_given_one(run, said):
    ((out, result),), _ = run(DEQUEUE, answer=lambda name, _: said if name == "flow" else None)
    assert (out[0], result) == (Indefinite, None)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (lambda _: StopIteration, "acknowledgement: connection"),
        (lambda number: command(wire.ACK_RESPONSE, (1, 0), (4, 0), (5, "gone"), (6, number)), "0 UnknownError: gone"),
    ],
)
def test_a_message_whose_acknowledgement_was_not_accepted_was_given_all_the_same(run, said, why):
    def answer(name, number):
        return given(7, 2, b"41") if name == "flow" else said(number) if name == "ack" else None

    ((out, result), (_, second)), broker = run(DEQUEUE, DEQUEUE, answer=answer)
    assert (out[0], why in out[1], result, second) == (Indefinite, True, Taken(41), Taken(41))
    assert (broker.connections, broker.asked.count("ack")) == (2, 2), "each message is acknowledged once"


def test_a_ping_is_answered(run):
    def answer(name, number):
        return command(wire.PING) + given(7, 2, b"41") if name == "flow" else None

    done, broker = run(DEQUEUE, answer=answer)
    assert (done, broker.asked.count("pong")) == ([(None, Taken(41))], 1)


@pytest.mark.broad
@pytest.mark.parametrize(("one", "word"), [(ENQUEUE, "send"), (DEQUEUE, "flow")], ids=["enqueue", "dequeue"])
def test_a_broker_that_is_paused_behind_the_greeting_gets_each_operation_once(run, one, word):
    done, broker = run(one, one, answer=lambda name, _: b"" if name == word else None, timeout_ns=NS_PER_S)
    assert [out[0] for out, _ in done] == [Indefinite] * 2
    assert broker.asked.count(word) == 2


@pytest.mark.parametrize(
    ("body", "value"), [(b"0", 0), (b"17", 17), (b"", STRANGE), (b"1x", STRANGE), (b"9" * 19, STRANGE)]
)
def test_the_value_of_a_message(body, value):
    assert value_in(body) == value
