"""What a client asks of a broker for each operation, and what it makes of the answers."""

import asyncio

import pytest
from pulsar_broker import FakeBroker, command, given, message_id
from scripted import raised_and_given
from system_view import view_of

from chaos.basics.rand import run_hash
from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S
from chaos.core.op import Invocation, Type
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send
from chaos.models.log.words import F, Record, Value
from cluster.systems._shared import link
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.pulsar import brokers as brokers_module
from cluster.systems.pulsar import client as client_module
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.brokers import Way
from cluster.systems.pulsar.client import POLLED, PulsarClient
from cluster.systems.pulsar.outcomes import TABLE
from cluster.systems.pulsar.positions import PER_LEDGER, MessageId
from cluster.systems.pulsar.protobuf import number_in, text_in
from cluster.systems.pulsar.reading import PERMITS, Reader
from cluster.systems.pulsar.system import Pulsar
from cluster.systems.pulsar.wire import body_of, id_in

VIEW = view_of(Pulsar())
RUN = run_hash(VIEW.run_id)
AT = 7 * PER_LEDGER


def op(f, argument=None):
    return Invocation(process=17, client=0, f=f, key=3, deadline_ns=0, argument=argument)


SEND = op(F.SEND, Send(value=Value(1, 5)))
NUMBERED = op(F.SEND, Send(value=Value(1, 5), producer="0.3.0", producer_sequence=4))
POLL, READ = (op(f, ReadFrom(offset=AT + 2)) for f in (F.POLL, F.READ))
DRAIN = op(F.DRAIN)
READS = (POLL, READ, DRAIN)


class Topic:
    """A topic with so many messages in ledger 7, which are given as far as a reader permits.

    ``gone_at``: from there on the broker owns it no longer.
    """

    def __init__(self, many, *, ledger=7, gone_at=None):
        self.ledger, self.many, self.gone_at = ledger, many, gone_at
        self.at = self.permits = 0

    def answer(self, name, number):
        if name == "subscribe":
            start = id_in(self.broker.commands[-1].fields, 9)
            self.at = 0 if start.ledger < self.ledger else start.entry
        if name == "last":
            last = message_id(self.ledger, self.many - 1) if self.many else message_id(-1, -1)
            return command(wire.LAST_ID_RESPONSE, (1, last), (2, number))
        if name != "flow":
            return None
        until = min(self.many, self.at + number_in(self.broker.commands[-1].fields, 2))
        if self.gone_at is not None and until > self.gone_at:
            if self.at >= self.gone_at:
                return StopIteration
            until = self.gone_at
        came = b"".join(given(self.ledger, one, body(one)) for one in range(self.at, until))
        self.at = until
        return came + (command(wire.ERROR, (1, 0), (2, 6), (3, "moved")) if until == self.gone_at else b"")


def body(number, key=3):
    return payload.encode(Value(1, number), key, RUN)


class Fixed:
    """A route that is always the same."""

    async def ask(self, deadline_ns):
        return Route((Served("b2", ("b1", "b3")),))

    def close(self):
        pass


@pytest.fixture(autouse=True)
def on_the_loopback(monkeypatch):
    """Clients go to the fake broker, whichever they mean; the port is set by ``run``."""
    ports = []
    monkeypatch.setattr(brokers_module, "GREETED_S", 30.0)  # a busy machine may take longer than a client waits
    monkeypatch.setattr(link, "CONNECT_TIMEOUT_S", 30.0)

    def reader(host, *arguments):
        return Reader("127.0.0.1", *arguments, port=ports[-1])

    monkeypatch.setattr(client_module, "Reader", reader)
    monkeypatch.setattr(client_module, "Way", lambda host, **given: Way("127.0.0.1", ports[-1], **given))
    return ports


@pytest.fixture
def run(on_the_loopback):
    """Give what an operation raised and was given, and the broker."""

    def perform(one, answer=lambda *_: None, topic=None):
        async def scenario():
            broker = FakeBroker(answer if topic is None else topic.answer)
            if topic is not None:
                topic.broker = broker
            async with broker:
                on_the_loopback.append(broker.port)
                client = PulsarClient(VIEW, -1, 8, seed=1)
                client._route._source = Fixed()
                out, received = await raised_and_given(client, one, 60 * NS_PER_S)
                await client.close()
                return out, received, broker

        return asyncio.run(scenario())

    return perform


def records(*numbers):
    return [Record(AT + one, Value(1, one)) for one in numbers]


def test_a_send_is_one_message_whose_id_is_the_offset(run):
    out, received, broker = run(SEND)
    assert (out, received.result, received.node) == (None, Placed(AT + 12), "b2")
    assert broker.asked == ["connect", "producer", "send"]
    hello, producer, sent = broker.commands
    assert number_in(hello.fields, 4) == 0, "a broker ends the connection of a version 0 that it leaves"
    assert text_in(producer.fields, 1) == f"persistent://public/default/{VIEW.mark}-3"
    assert body_of(sent.payload) == body(5)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.error)
def test_what_an_error_makes_of_a_send(run, row):
    def answer(name, number):
        if name == "send":
            return command(wire.SEND_ERROR, (1, 0), (2, number), (3, row.code), (4, "why"))
        return None

    out, received, broker = run(SEND, answer)
    assert out == (Definite if row.type is Type.FAIL else Indefinite, f"{row.error}: why")
    assert (received.result, broker.asked.count("send")) == (None, 1)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (lambda _: StopIteration, "connection"),
        (lambda _: b"\xff" * 8, "malformed answer"),
        (lambda number: command(wire.SEND_RECEIPT, (1, 0), (2, number)), "malformed answer: no offset"),
        (lambda number: command(wire.SEND_RECEIPT, (1, 0), (2, number), (3, message_id(7, 1 << 40))), "no offset"),
        (lambda number: command(wire.SEND_ERROR, (1, 0), (2, number), (3, 77)), "error 77"),
    ],
)
def test_what_an_odd_answer_makes_of_a_send(run, said, why):
    out, _, broker = run(SEND, lambda name, number: said(number) if name == "send" else None)
    assert (out[0], why in out[1], broker.asked.count("send")) == (Indefinite, True, 1)


def test_a_send_of_a_producer_has_its_name_and_number(run):
    out, received, broker = run(NUMBERED)
    assert (out, received.result) == (None, Placed(AT + 12))
    _, producer, sent = broker.commands
    assert text_in(producer.fields, 4) == f"{VIEW.mark}-0.3.0"
    assert number_in(sent.fields, 2) == 4


def test_a_message_that_the_broker_has_already_is_acknowledged_without_an_offset(run):
    def answer(name, number):
        return command(wire.SEND_RECEIPT, (1, 0), (2, number), (3, message_id(-1, -1))) if name == "send" else None

    out, received, _ = run(NUMBERED, answer)
    assert (out, received.result) == (None, Placed(None))
    out, received, _ = run(SEND, answer)
    assert (out[0], received.result) == (Indefinite, None), "nobody may have sent it before"


@pytest.mark.broad
def test_a_producer_whose_send_was_not_answered_is_made_anew(on_the_loopback):
    """A broker takes no second one of the name beside one that it still knows, so the first one's connection ends."""
    silent = iter([b""])

    async def scenario():
        async with FakeBroker(lambda name, _: next(silent, None) if name == "send" else None) as broker:
            on_the_loopback.append(broker.port)
            client = PulsarClient(VIEW, -1, 8, seed=1)
            client._route._source = Fixed()
            first, _ = await raised_and_given(client, NUMBERED, NS_PER_S)
            await broker.heard_out()
            second, received = await raised_and_given(client, NUMBERED, 30 * NS_PER_S)
            await client.close()
            return first, second, received.result, broker.asked

    first, second, result, asked = asyncio.run(scenario())
    assert (first, second, result) == ((Indefinite, NO_ANSWER), None, Placed(AT + 12))
    assert asked == ["connect", "producer", "send"] * 2


@pytest.mark.parametrize(
    ("name", "said", "why"),
    [
        (
            "producer",
            lambda n: command(wire.ERROR, (1, n), (2, 6), (3, "moved")),
            "no producer: 6 ServiceNotReady: moved",
        ),
        ("producer", lambda n: command(wire.ERROR, (1, n), (2, 2), (3, "fenced")), "no producer: 2 PersistenceError"),
        ("producer", lambda n: StopIteration, "no producer: connection"),
        ("connect", lambda n: StopIteration, "no producer: connection"),
    ],
)
def test_nothing_is_sent_without_a_producer(run, name, said, why):
    out, _, broker = run(SEND, lambda asked, number: said(number) if asked == name else None)
    assert (out[0], out[1].startswith(why), "send" in broker.asked) == (Definite, True, False)


@pytest.mark.parametrize(
    ("one", "many", "expected"),
    [
        (READ, 5, Given(records(2, 3, 4), AT + 5, 0, AT + 5)),
        (POLL, 5, Given(records(2, 3, 4), AT + 5)),
        (POLL, 90, Given(records(*range(2, 2 + POLLED)), AT + 2 + POLLED)),
        (POLL, 1, Given([], AT + 2)),
        (READ, 2, Given([], AT + 2, 0, AT + 2)),
        (READ, 1, Given([], AT + 2, 0, AT + 1)),
        (DRAIN, 0, Given([], 0, 0, 0)),
        (DRAIN, 3 * PERMITS, Given(records(*range(3 * PERMITS)), AT + 3 * PERMITS, 0, AT + 3 * PERMITS)),
    ],
)
def test_a_read_ends_at_the_message_that_the_owner_named_last(run, one, many, expected):
    out, received, broker = run(one, topic=Topic(many))
    assert (out, received.result, received.node) == (None, expected, "b2")
    assert broker.asked[:3] == ["connect", "subscribe", "last"]


def test_a_reader_is_not_kept_and_begins_at_the_message_that_was_asked_for(run):
    _, _, broker = run(READ, topic=Topic(5))
    fields = broker.commands[1].fields
    assert (number_in(fields, 8, 9), id_in(fields, 9), number_in(fields, 3, 9)) == (0, MessageId(7, 2), 0)


def test_a_reader_permits_no_more_than_it_wants(run):
    _, _, broker = run(POLL, topic=Topic(5))
    flows = [number_in(one.fields, 2) for one in broker.commands if one.kind == wire.FLOW]
    assert flows == [POLLED]


@pytest.mark.parametrize("one", READS, ids=lambda one: one.f.word)
@pytest.mark.parametrize("name", ["subscribe", "last"])
def test_a_read_that_is_refused_has_failed(run, one, name):
    def answer(asked, number):
        return command(wire.ERROR, (1, number), (2, 6), (3, "moved")) if asked == name else None

    out, received, broker = run(one, answer)
    assert out == (Definite, "6 ServiceNotReady: moved")
    assert (received.result.records, broker.connections) == ([], 1)


def test_what_came_before_a_reader_was_sent_away_is_recorded(run):
    out, received, _ = run(DRAIN, topic=Topic(9, gone_at=4))
    assert out == (Definite, "6 ServiceNotReady: moved")
    assert (received.result.records, received.result.next_offset) == (records(0, 1, 2, 3), AT + 4)


@pytest.mark.parametrize("said", [StopIteration, b"\xff" * 8])
def test_a_read_whose_answer_is_none_has_failed(run, said):
    out, _, broker = run(READ, lambda name, _: said if name == "last" else None)
    assert (out[0], broker.connections) == (Definite, 1)


def test_what_is_not_ours_is_damaged(run):
    def answer(name, number):
        if name == "last":
            return command(wire.LAST_ID_RESPONSE, (1, message_id(7, 3)), (2, number))
        return given(7, 2, b"junk") + given(7, 3, body(3, key=1)) if name == "flow" else None

    _, received, _ = run(READ, answer)
    assert received.result.records == [Record(AT + 2, None), Record(AT + 3, None)]


@pytest.mark.parametrize("one", [SEND, *READS], ids=lambda one: one.f.word)
def test_a_paused_broker_gets_each_operation_once(on_the_loopback, one):
    """It reads nothing until the operation is over; then it finds one greeting of each at most, and no message."""

    async def scenario():
        async with FakeBroker() as broker:
            broker.paused = True
            on_the_loopback.append(broker.port)
            client = PulsarClient(VIEW, -1, 8, seed=1)
            client._route._source = Fixed()
            out = [(await raised_and_given(client, one, NS_PER_S // 12))[0] for _ in range(2)]
            await client.close()
            broker.resumed.set()
            await broker.heard_out()
            return out, broker.asked

    out, asked = asyncio.run(scenario())
    assert [kind for kind, _ in out] == [Definite] * 2, "nothing was sent before the broker had greeted"
    assert (asked.count("send"), asked.count("last")) == (0, 0)
    assert asked.count("connect") <= (1 if one is SEND else 2), "sends wait for the same connection"


@pytest.mark.broad
def test_a_broker_that_is_paused_behind_the_greeting_gets_each_send_once(on_the_loopback):
    """The sends go out on the connection that there is; a silent one gets no more."""

    async def scenario():
        async with FakeBroker(lambda name, _: b"" if name == "send" else None) as broker:
            on_the_loopback.append(broker.port)
            client = PulsarClient(VIEW, -1, 8, seed=1)
            client._route._source = Fixed()
            out = [(await raised_and_given(client, SEND, NS_PER_S))[0] for _ in range(2)]
            await client.close()
            await broker.heard_out()
            return out, broker.asked.count("send"), broker.connections

    out, sends, connections = asyncio.run(scenario())
    assert (out, sends, connections) == ([(Indefinite, NO_ANSWER)] * 2, 2, 2)
