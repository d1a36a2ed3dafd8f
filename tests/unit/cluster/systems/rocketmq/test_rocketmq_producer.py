"""Delayed and transactional messages against a scripted broker that asks back.

What real brokers do with them is in tests/e2e_netns and tests/controls.
"""

import asyncio
import contextlib
import time

import msgspec
import pytest
from log_ops import Told
from rocketmq_view import view_of
from rocketmq_wire import encode_answer, encode_messages
from scripted import op, performed

from chaos.basics.rand import run_hash
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Type
from chaos.models.log import payload
from chaos.models.log.transaction import Decision
from chaos.models.log.words import F, Value
from cluster.systems.rocketmq.client import RocketMQClient
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.names import names_of
from cluster.systems.rocketmq.producer import Producer, decision_in
from cluster.systems.rocketmq.protocol import (
    Answer,
    FrameBuffer,
    Message,
    Request,
    decode_properties,
    encode_request,
)
from cluster.systems.rocketmq.sending import wall_ms

NO_PLACE = "malformed answer: half message acknowledged without its place"
RUN = run_hash("run")
VIEW = view_of()
NAMES = names_of(VIEW)
HALF = {"queueOffset": "40", "msgId": f"C612000E00002A9F{4711:016X}", "transactionId": "told"}


class Broker:
    """Answers as told, remembers what it was asked, and asks back on the connection of the last heartbeat."""

    def __init__(self):
        self.asked = []
        self.answers = dict.fromkeys((Request.END_TRANSACTION, Request.HEART_BEAT), (0, {}))
        self.answers[Request.SEND_MESSAGE_V2] = (0, HALF)
        self.producer = None
        self.heard = asyncio.Event()

    async def serve(self, reader, writer):
        buffer = FrameBuffer()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                for request in buffer.feed(data):
                    self.asked.append(request)
                    if request.code == Request.HEART_BEAT:
                        self.producer = writer
                    if request.code == Request.GET_ROUTEINFO_BY_TOPIC:
                        body = {"brokerDatas": [{"brokerName": "g0", "brokerAddrs": {0: f"{ADDRESS['b1']}:10911"}}]}
                        writer.write(encode_answer(Answer(0, request.opaque, True, "", {}, msgspec.json.encode(body))))
                    elif request.code in self.answers:
                        code, fields = self.answers[request.code]
                        writer.write(encode_answer(Answer(code, request.opaque, True, "", fields, b"")))
                    self.heard.set()
        writer.transport.abort()

    def of(self, code):
        return [request for request in self.asked if request.code == code]

    async def until(self, code, count=1):
        async with asyncio.timeout(5):
            while len(self.of(code)) < count:
                self.heard.clear()
                await self.heard.wait()


ADDRESS = {node.name: node.address for node in VIEW.nodes}


def with_client(body):
    """Run ``body(broker, client)`` with every link of the client leading to the broker."""

    async def main():
        broker = Broker()
        server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = RocketMQClient(view_of(client__routing="follow", client__routePollInterval="3600"), 0, 8, seed=1)
        for name in client._links:
            client._links[name] = Link("127.0.0.1", port, client._links[name]._codec.args[0])
        client._producer = Producer(client._links, NAMES, RUN, 0, "controller")
        client._route._source._link = Link("127.0.0.1", port)
        try:
            return await body(broker, client)
        finally:
            await client.close()
            await client.close()
            server.close()
            await server.wait_closed()

    return asyncio.run(main())


def transact(decision, **facts):
    return op(F.TRANSACT, value=Value(1, 2), argument=int(decision), **facts)


def done(decision, prepare=None, **facts):
    """The completion of one transaction, and what the broker was asked."""

    async def body(broker, client):
        if prepare:
            prepare(broker)
        return await performed(client, transact(decision, **facts)()), broker

    return with_client(body)


def properties(broker):
    return decode_properties(broker.of(Request.SEND_MESSAGE_V2)[0].fields["i"])


@pytest.mark.parametrize(("decision", "word"), [(Decision.COMMIT, "8"), (Decision.ROLLBACK, "12")])
def test_a_half_message_is_stored_and_then_decided_at_once(decision, word):
    completion, broker = done(decision)
    assert completion == Told(type=Type.OK, node="b1")  # without an offset: nobody was told one
    (half,), (end,) = broker.of(Request.SEND_MESSAGE_V2), broker.of(Request.END_TRANSACTION)
    assert half.fields["f"] == "4"
    assert abs(int(half.fields["g"]) - time.time() * 1000) < 60_000  # one born in 1970 is given up unasked
    assert properties(broker) | {"TRAN_MSG": "true", "PGROUP": NAMES.transactions, "WAIT": "true"} == properties(broker)
    assert payload.decode(half.body, 0, RUN) == Value(1, 2)
    assert end.fields == {
        "tranStateTableOffset": "40",
        "commitLogOffset": "4711",
        "msgId": properties(broker)["UNIQ_KEY"],
        "transactionId": "told",
        "producerGroup": NAMES.transactions,
        "commitOrRollback": word,
        "fromTransactionCheck": "false",
    }


@pytest.mark.parametrize("decision", [Decision.COMMIT_WHEN_ASKED, Decision.ROLLBACK_WHEN_ASKED, Decision.NEVER])
def test_other_decisions_are_not_told_by_themselves(decision):
    completion, broker = done(decision)
    assert completion == Told(type=Type.OK, node="b1")
    assert not broker.of(Request.END_TRANSACTION)


@pytest.mark.parametrize(
    ("code", "answer", "expected"),
    [
        (Request.SEND_MESSAGE_V2, (2, {}), (Type.FAIL, "SYSTEM_BUSY")),
        (Request.SEND_MESSAGE_V2, (12, HALF), (Type.INFO, "FLUSH_SLAVE_TIMEOUT")),
        (Request.SEND_MESSAGE_V2, (0, {}), (Type.INFO, NO_PLACE)),
        (Request.END_TRANSACTION, (1, {}), (Type.INFO, "half message stored, then SYSTEM_ERROR")),
        (Request.END_TRANSACTION, (11, {}), (Type.INFO, "half message stored, then SLAVE_NOT_AVAILABLE")),
    ],
)
def test_what_is_not_certain_is_in_doubt(code, answer, expected):
    completion, broker = done(Decision.COMMIT, lambda broker: broker.answers.update({code: answer}))
    assert (completion.type, completion.error) == expected
    assert completion.offset is None
    if code == Request.SEND_MESSAGE_V2:
        assert not broker.of(Request.END_TRANSACTION)


def test_an_end_without_an_answer_is_in_doubt():
    completion, _ = done(Decision.COMMIT, lambda broker: broker.answers.pop(Request.END_TRANSACTION), timeout_s=0.3)
    assert (completion.type, completion.error) == (Type.INFO, "no answer before the deadline")


def question(text, code=Request.CHECK_TRANSACTION_STATE):
    """What a broker asks about a half message that was stored with these properties."""
    body = encode_messages([Message("chaos", 0, 50, 9, b"body", True, decode_properties(text))])
    fields = {"tranStateTableOffset": 50, "commitLogOffset": 4999, "msgId": "m", "transactionId": "t", "topic": "half"}
    return encode_request(code, 1, fields, body)


@pytest.mark.parametrize(
    ("decision", "word"),
    [
        (Decision.COMMIT, "8"),
        (Decision.ROLLBACK, "12"),
        (Decision.COMMIT_WHEN_ASKED, "8"),
        (Decision.ROLLBACK_WHEN_ASKED, "12"),
    ],
)
def test_a_broker_that_asks_is_told_what_was_decided(decision, word):
    async def body(broker, client):
        await performed(client, transact(decision)())
        await broker.until(Request.HEART_BEAT, 3)
        before = len(broker.of(Request.END_TRANSACTION))
        broker.producer.write(question(broker.of(Request.SEND_MESSAGE_V2)[0].fields["i"]))
        await broker.until(Request.END_TRANSACTION, before + 1)
        return broker.of(Request.END_TRANSACTION)[-1].fields

    assert with_client(body) == {
        "tranStateTableOffset": "50",
        "commitLogOffset": "4999",
        "msgId": "m",
        "transactionId": "t",
        "producerGroup": NAMES.transactions,
        "commitOrRollback": word,
        "fromTransactionCheck": "true",
    }


def test_every_broker_hears_of_the_producer():
    async def body(broker, client):
        await performed(client, transact(Decision.NEVER)())
        await broker.until(Request.HEART_BEAT, 3)
        return [msgspec.json.decode(beat.body) for beat in broker.of(Request.HEART_BEAT)]

    beats = with_client(body)
    assert all(beat["producerDataSet"] == [{"groupName": NAMES.transactions}] for beat in beats)
    assert len({beat["clientID"] for beat in beats}) == 1


def test_plain_sends_need_no_heartbeat():
    async def body(broker, client):
        await performed(client, op(F.SEND)())
        return broker.of(Request.HEART_BEAT)

    assert with_client(body) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("decision\x011\x02", Decision.COMMIT),
        ("decision\x014\x02", Decision.ROLLBACK_WHEN_ASKED),
        ("decision\x015\x02", None),
        ("decision\x0199\x02", None),
        ("other\x011\x02", None),
    ],
)
def test_what_a_producer_says_when_it_is_asked(text, said):
    (asked,) = FrameBuffer().feed(question(text))
    assert decision_in(asked) is said


def test_a_question_that_does_not_parse_is_not_answered():
    assert decision_in(Answer(Request.CHECK_TRANSACTION_STATE, 1, False, "", {}, b"nonsense")) is None


def test_a_delayed_send_names_its_time_and_is_told_no_offset():
    due_ns = now_ns() + 5 * NS_PER_S

    async def body(broker, client):
        completion = await performed(client, op(F.SCHEDULE, value=Value(1, 2), argument=due_ns)())
        return completion, properties(broker)

    completion, named = with_client(body)
    assert completion == Told(type=Type.OK, node="b1")
    assert abs(int(named["TIMER_DELIVER_MS"]) / 1000 - time.time() - (due_ns - now_ns()) / NS_PER_S) < 0.05


def test_an_instant_on_the_wall_clock_is_never_before_it(monkeypatch):
    module = "cluster.systems.rocketmq.sending"
    monkeypatch.setattr(f"{module}.now_ns", lambda: 1_000_000_000)
    monkeypatch.setattr(f"{module}.time.time_ns", lambda: 50_000_000_000)
    assert wall_ms(1_000_000_000) == 50_000
    assert wall_ms(1_000_000_001) == 50_001
    assert wall_ms(1_001_000_000) == 50_001
