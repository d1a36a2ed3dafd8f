"""Pops, receipts and commits against a scripted broker on the loopback; what real ones do is in tests/controls."""

import asyncio
import contextlib

import msgspec
import pytest
from rocketmq_view import view_of
from rocketmq_wire import encode_answer, encode_messages
from scripted import invoked, op

from chaos.basics.rand import run_hash
from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from chaos.models.log import payload
from chaos.models.log.words import F, Record, Value
from cluster.systems.rocketmq.client import RocketMQClient
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.names import names_of
from cluster.systems.rocketmq.pops import RECEIPTS, Pops, Receipt, extend_receipt, parse_pop, receipt_of
from cluster.systems.rocketmq.protocol import (
    Answer,
    Code,
    FrameBuffer,
    Message,
    ProtocolError,
    Request,
)

RUN = run_hash("run")
NAMES = names_of(view_of())
TOPIC = NAMES.topic
TIMES = {"popTime": "1700000000000", "invisibleTime": "8000", "reviveQid": "5", "restNum": "0"}
INFO = {"startOffsetInfo": "0 2 40;1 0 7", "msgOffsetInfo": "0 2 40,41;1 0 7"}
OWN = "7 1700000000000 8000 5 1 g0 0 7"
SECOND = 10**9


def message(value, offset, queue=2, properties=None, reconsumed=0, key=0):
    return Message(TOPIC, queue, offset, 0, payload.encode(value, key, RUN), True, properties or {}, reconsumed)


def popped(code=0, fields=None, messages=(), remark=""):
    return Answer(code, 1, True, remark, TIMES | INFO if fields is None else fields, encode_messages(messages))


def parsed(answer):
    """The receipts by value, and the records."""
    records = []
    return dict(parse_pop(NAMES, answer, 0, RUN, records)), records


def test_messages_get_receipts_made_of_the_answer_or_bring_their_own():
    again = message(Value(1, 7), 7, queue=0, properties={"POP_CK": OWN}, reconsumed=2)
    sent = [message(Value(1, 0), 40), message(Value(1, 1), 41), again]
    receipts, records = parsed(popped(messages=sent))
    assert (records[0], records[2]) == (Record(40, Value(1, 0), 1), Record(-1, Value(1, 7), 3))
    assert receipts[Value(1, 0)] == Receipt(TOPIC, 2, 40, "40 1700000000000 8000 5 0 g0 2 40")
    assert receipts[Value(1, 1)].text == "40 1700000000000 8000 5 0 g0 2 41"
    assert receipts[Value(1, 7)] == Receipt(f"%RETRY%{TOPIC}-pop-0_{TOPIC}", 0, 7, OWN)


def test_a_body_that_is_not_ours_is_damaged():
    assert parsed(popped(messages=[message(Value(1, 0), 40, key=3)])) == ({}, [Record(40, None, 1)])


@pytest.mark.parametrize("code", [Code.POLLING_TIMEOUT, Code.POLLING_FULL, Code.PULL_NOT_FOUND])
def test_an_empty_answer_counts_only_if_nothing_is_there(code):
    assert parsed(popped(code, TIMES)) == ({}, [])
    for fields in ({}, {"popTime": "0"}, TIMES | {"restNum": "3"}):
        with pytest.raises(Definite):
            parsed(popped(code, fields))


@pytest.mark.parametrize(
    ("code", "remark", "error"),
    [
        (Code.NO_PERMISSION, "", Definite),
        (Code.SUBSCRIPTION_GROUP_NOT_EXIST, "", Definite),
        (Code.SYSTEM_BUSY, "", Definite),
        (Code.SYSTEM_ERROR, "the broker[x] pop message is forbidden because timerWheelEnable is false", Definite),
        (Code.SYSTEM_ERROR, "java.lang.NullPointerException", Indefinite),
        (4711, "", Indefinite),
    ],
)
def test_refusals(code, remark, error):
    with pytest.raises(error):
        parsed(popped(code, {}, remark=remark))


@pytest.mark.parametrize("text", ["", "1 2 3", "a 1 2 3 0 g0 x 4", "1 1 2 3 0 g0 0 y"])
def test_receipts_that_do_not_parse(text):
    with pytest.raises(ProtocolError):
        receipt_of(NAMES, text, 0)


def test_answers_without_their_check_points_do_not_parse():
    for fields in (TIMES, TIMES | {"startOffsetInfo": "0 2"}, TIMES | {"startOffsetInfo": "0 1 40"}):
        with pytest.raises(ProtocolError):
            parsed(popped(fields=fields, messages=[message(Value(1, 0), 40)]))


@pytest.mark.parametrize("fields", [INFO, {"startOffsetInfo": "0"}, {}])
def test_a_popped_message_without_a_receipt_was_given(fields):
    records = []
    sent = [message(Value(1, 7), 7, queue=0, properties={"POP_CK": OWN}), message(Value(1, 0), 40)]
    with pytest.raises((ProtocolError, KeyError)):
        list(parse_pop(NAMES, popped(fields=fields, messages=sent), 0, RUN, records))
    assert records == [Record(-1, Value(1, 7), 1), Record(-1, Value(1, 0), 1)]


def test_a_message_kept_longer_has_a_check_point_of_its_own():
    fresh = {"popTime": "1700000000999", "invisibleTime": "9000", "reviveQid": "5"}
    kept = extend_receipt(receipt_of(NAMES, "40 1700000000000 8000 5 0 g0 2 41", 2), Answer(0, 1, True, "", fresh, b""))
    assert kept == Receipt(TOPIC, 2, 41, "41 1700000000999 9000 5 0 g0 2 41")
    with pytest.raises(ProtocolError, match="popTime"):
        extend_receipt(kept, Answer(0, 1, True, "", {}, b""))


def test_a_client_forgets_its_oldest_receipts():
    pops = Pops(NAMES, RUN, None)
    for n in range(RECEIPTS + 2):
        pops._keep(0, Value(1, n), n)
    assert (len(pops._receipts), pops._receipts.get((0, Value(1, 1)))) == (RECEIPTS, None)


class Broker:
    """Stands as told (the last stays), answers by request, and keeps what it was asked."""

    def __init__(self, **answers):
        self.standings = [(0, 7)]
        self.answers = {Request[name]: answer for name, answer in answers.items()}
        self.asked = []

    def answer(self, request):
        name = Request(request.code)
        if name is Request.GET_BROKER_EPOCH_CACHE:
            identity, epoch = self.standings.pop(0) if len(self.standings) > 1 else self.standings[0]
            body = {"brokerId": identity, "maxOffset": 9, "epochList": [{"epoch": epoch}]}
            return encode_answer(Answer(0, request.opaque, True, "", {}, msgspec.json.encode(body)))
        if name is Request.GET_ROUTEINFO_BY_TOPIC:
            data = {"brokerDatas": [{"brokerName": "g0", "brokerAddrs": {0: f"{ADDRESS['b1']}:10911"}}]}
            return encode_answer(Answer(0, request.opaque, True, "", {}, msgspec.json.encode(data)))
        self.asked.append((name, dict(request.fields)))
        return encode_answer(self.answers[name]._replace(opaque=request.opaque))

    async def serve(self, reader, writer):
        buffer = FrameBuffer()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                for request in buffer.feed(data):
                    writer.write(self.answer(request))
        writer.transport.abort()


ADDRESS = {node.name: node.address for node in view_of().nodes}


def run(broker, *ops):
    def client_at(port):
        client = RocketMQClient(view_of(client__routing="follow", client__routePollInterval="3600"), 0, 8, seed=1)
        client._links = {name: Link("127.0.0.1", port) for name in client._links}
        client._route._source._link = Link("127.0.0.1", port)
        return client

    return invoked(broker.serve, client_at, *ops)


FINE = Answer(0, 1, True, "", {}, b"")
ABOUT = {"value": Value(1, 0), "offset": 40}


def test_pop_keep_longer_acknowledge():
    broker = Broker(
        POP_MESSAGE=popped(messages=[message(Value(1, 0), 40)]),
        CHANGE_MESSAGE_INVISIBLETIME=FINE._replace(fields=TIMES | {"popTime": "1700000000999"}),
        ACK_MESSAGE=FINE,
    )
    pop, extend, ack, twice = run(
        broker,
        op(F.POP, argument=8 * SECOND),
        op(F.EXTEND, argument=9 * SECOND, **ABOUT),
        op(F.ACK, **ABOUT),
        op(F.ACK, **ABOUT),
    )
    assert (pop.type, pop.node, pop.records) == (Type.OK, "b1", (Record(40, Value(1, 0), 1),))
    assert (extend.type, ack.type, ack.offset) == (Type.OK, Type.OK, 40)
    assert (twice.type, twice.error) == (Type.FAIL, "no receipt of such a message")
    asked = dict(broker.asked)
    assert asked[Request.POP_MESSAGE]["consumerGroup"] == f"{TOPIC}-pop-0"
    assert asked[Request.POP_MESSAGE]["invisibleTime"] == "8000"
    assert asked[Request.CHANGE_MESSAGE_INVISIBLETIME]["extraInfo"] == "40 1700000000000 8000 5 0 g0 2 40"
    assert asked[Request.CHANGE_MESSAGE_INVISIBLETIME]["invisibleTime"] == "9000"
    assert asked[Request.ACK_MESSAGE]["extraInfo"] == "40 1700000000999 8000 5 0 g0 2 40"
    assert (asked[Request.ACK_MESSAGE]["topic"], asked[Request.ACK_MESSAGE]["offset"]) == (TOPIC, "40")


def test_nothing_is_popped_at_a_slave():
    broker = Broker()
    broker.standings = [(2, 7)]
    done = run(broker, op(F.POP, argument=SECOND))
    assert (done.type, done.error, broker.asked) == (Type.FAIL, "not master", [])


@pytest.mark.parametrize(("code", "outcome"), [(Code.NO_MESSAGE, Type.FAIL), (Code.SYSTEM_ERROR, Type.INFO)])
def test_refused_acks(code, outcome):
    broker = Broker(POP_MESSAGE=popped(messages=[message(Value(1, 0), 40)]), ACK_MESSAGE=FINE._replace(code=code))
    _, ack = run(broker, op(F.POP, argument=SECOND), op(F.ACK, **ABOUT))
    assert ack.type is outcome


def test_commits_and_questions_at_one_master():
    broker = Broker(UPDATE_CONSUMER_OFFSET=FINE, QUERY_CONSUMER_OFFSET=FINE._replace(fields={"offset": "12"}))
    commit, asked = run(broker, op(F.COMMIT, offset=12), op(F.COMMITTED_READ))
    assert (commit.type, asked.type, asked.next_offset) == (Type.OK, Type.OK, 12)
    fields = dict(broker.asked)[Request.UPDATE_CONSUMER_OFFSET]
    assert fields == {"consumerGroup": f"{TOPIC}-group", "topic": TOPIC, "queueId": "0", "commitOffset": "12"}
    assert dict(broker.asked)[Request.QUERY_CONSUMER_OFFSET]["setZeroIfNotFound"] == "false"


def test_a_group_that_never_committed():
    broker = Broker(QUERY_CONSUMER_OFFSET=FINE._replace(code=Code.QUERY_NOT_FOUND))
    done = run(broker, op(F.COMMITTED_READ))
    assert (done.type, done.next_offset) == (Type.OK, None)


@pytest.mark.parametrize("after", [(2, 7), (0, 8)])
def test_a_commit_is_in_doubt_and_a_question_failed_if_mastership_moved(after):
    for f, outcome in ((F.COMMIT, Type.INFO), (F.COMMITTED_READ, Type.FAIL)):
        broker = Broker(UPDATE_CONSUMER_OFFSET=FINE, QUERY_CONSUMER_OFFSET=FINE)
        broker.standings = [(0, 7), after]
        assert run(broker, op(f, offset=3)).type is outcome


def test_a_slave_takes_no_commit_and_refusals_are_certain():
    broker = Broker()
    broker.standings = [(2, 7)]
    assert run(broker, op(F.COMMIT, offset=3)).type is Type.FAIL
    refused = Broker(UPDATE_CONSUMER_OFFSET=FINE._replace(code=Code.SUBSCRIPTION_GROUP_NOT_EXIST))
    assert run(refused, op(F.COMMIT, offset=3)).type is Type.FAIL
    unknown = Broker(UPDATE_CONSUMER_OFFSET=FINE._replace(code=Code.SYSTEM_ERROR))
    assert run(unknown, op(F.COMMIT, offset=3)).type is Type.INFO
