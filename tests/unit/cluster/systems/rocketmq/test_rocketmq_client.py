"""The client against a scripted broker on the loopback: what a real one cannot be made to do on demand.

Losing mastership between two requests of one strong read, stopping below the maximum it named, answering
nonsense. What real brokers do is in tests/e2e_netns/test_rocketmq.py.
"""

import asyncio
import contextlib

import msgspec
import pytest
from log_ops import Told
from rocketmq_view import view_of
from rocketmq_wire import encode_answer, encode_messages
from scripted import invoked, op

from chaos.basics.rand import run_hash
from chaos.core.op import Type
from chaos.models.log import payload
from chaos.models.log.words import F, Record, Value
from cluster.systems.rocketmq.client import RocketMQClient
from cluster.systems.rocketmq.connection import Link
from cluster.systems.rocketmq.protocol import (
    Answer,
    Code,
    FrameBuffer,
    Message,
    Request,
)

RUN = run_hash("run")


class Broker:
    """A log, a role per question (the last one stays), and what goes wrong; also the name server."""

    def __init__(self):
        self.log = []
        self.first = 0
        self.standings = [(0, 7)]  # broker id, epoch
        self.stuck_at = None
        self.page = 10
        self.route = {0: "b1", 2: "b2", 3: "b3"}
        self.sent = []
        self.send_answer = None
        self.silent = set()
        self.silent_after = None
        self.served = []

    def answer(self, request):
        name = Request(request.code)
        self.served.append(name)
        if name in self.silent or self.served.count(Request.PULL_MESSAGE) - 1 == self.silent_after:
            return None
        code, fields, body = self._handle(name, request)
        return encode_answer(Answer(code, request.opaque, True, "", fields, body))

    def _handle(self, name, request):
        if name is Request.GET_BROKER_EPOCH_CACHE:
            identity, epoch = self.standings.pop(0) if len(self.standings) > 1 else self.standings[0]
            return 0, {}, msgspec.json.encode({"brokerId": identity, "maxOffset": 9, "epochList": [{"epoch": epoch}]})
        if name is Request.GET_MIN_OFFSET:
            return 0, {"offset": str(self.first)}, b""
        if name is Request.GET_MAX_OFFSET:
            return 0, {"offset": str(self.first + len(self.log))}, b""
        if name is Request.GET_ROUTEINFO_BY_TOPIC:
            addresses = {identity: f"{ADDRESS[node]}:10911" for identity, node in self.route.items()}
            return 0, {}, msgspec.json.encode({"brokerDatas": [{"brokerName": "g0", "brokerAddrs": addresses}]})
        if name is Request.SEND_MESSAGE_V2:
            self.sent.append(request.body)
            return self.send_answer or (0, {"queueOffset": str(len(self.sent) - 1)}, b"")
        return self._pull(int(request.fields["queueOffset"]), int(request.fields["maxMsgNums"]))

    def _pull(self, at, count):
        end = self.first + len(self.log)
        found = [] if at == self.stuck_at else self.log[at - self.first :][: min(count, self.page)]
        fields = {"nextBeginOffset": at + len(found), "minOffset": self.first, "maxOffset": end}
        messages = [
            Message("chaos", 0, at + n, 0, payload.encode(value, 0, RUN), True, {}) for n, value in enumerate(found)
        ]
        code = Code.SUCCESS if found else Code.PULL_NOT_FOUND
        return code, {name: str(value) for name, value in fields.items()}, encode_messages(messages)

    async def serve(self, reader, writer):
        buffer = FrameBuffer()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                for request in buffer.feed(data):
                    if answer := self.answer(request):
                        writer.write(answer)
        writer.transport.abort()


VIEW = view_of()
ADDRESS = {node.name: node.address for node in VIEW.nodes}


def run(broker, *ops, number=0, routing="follow"):
    def client_at(port):
        view = view_of(client__routing=routing, client__routePollInterval="3600")
        client = RocketMQClient(view, number, 8, seed=1)
        client._links = {name: Link("127.0.0.1", port) for name in client._links}
        client._route._source._link = Link("127.0.0.1", port)
        return client

    return invoked(broker.serve, client_at, *ops)


@pytest.fixture
def broker():
    made = Broker()
    made.log = [Value(1, n) for n in range(25)]
    return made


def test_a_strong_read_goes_to_the_maximum_in_several_pulls(broker):
    done = run(broker, op(F.READ, offset=3))
    assert (done.type, done.node, done.min_offset, done.max_offset, done.next_offset) == (Type.OK, "b1", 0, 25, 25)
    assert done.records == tuple(Record(n, Value(1, n)) for n in range(3, 25))
    assert broker.served.count(Request.PULL_MESSAGE) == 3


def test_a_replicas_own_copy_is_pulled_from_the_replica_that_is_named(broker):
    broker.first = 4
    position = [node.name for node in VIEW.nodes].index("b2")
    done = run(broker, op(F.REPLICA, argument=position))
    assert (done.type, done.node, done.min_offset, done.max_offset, done.next_offset) == (Type.OK, "b2", 4, 29, 29)
    assert [record.offset for record in done.records] == list(range(4, 29))
    assert Request.GET_BROKER_EPOCH_CACHE not in broker.served


def test_a_copy_ends_where_pulls_get_no_further(broker):
    broker.stuck_at = 10
    done = run(broker, op(F.REPLICA, argument=5))
    assert (done.type, done.next_offset, done.max_offset, len(done.records)) == (Type.OK, 10, 25, 10)


def test_a_drain_begins_at_the_minimum(broker):
    broker.first = 100
    done = run(broker, op(F.DRAIN))
    assert (done.type, done.min_offset, done.max_offset, done.next_offset) == (Type.OK, 100, 125, 125)
    assert [record.offset for record in done.records] == list(range(100, 125))


def test_a_strong_read_of_nothing_new_still_asks_the_role_twice(broker):
    done = run(broker, op(F.READ, offset=25))
    assert (done.type, done.records, done.next_offset) == (Type.OK, (), 25)
    assert broker.served.count(Request.GET_BROKER_EPOCH_CACHE) == 2


def test_a_strong_read_at_no_master_fails_before_it_reads(broker):
    broker.standings = [(2, 7)]
    assert run(broker, op(F.READ, offset=0)) == Told(type=Type.FAIL, node="b1", error="not master")
    assert Request.PULL_MESSAGE not in broker.served


@pytest.mark.parametrize("after", [(2, 7), (0, 8), (2, 8)])
def test_a_strong_read_over_a_change_of_role_or_epoch_fails_with_what_it_was_given(broker, after):
    broker.standings = [(0, 7), after]
    done = run(broker, op(F.READ, offset=3))
    assert (done.type, done.node, done.error) == (Type.FAIL, "b1", "not master any more")
    assert done.records == tuple(Record(n, Value(1, n)) for n in range(3, 25))
    assert (done.min_offset, done.next_offset, done.max_offset) == (0, 25, 25)


def test_a_strong_read_that_stops_below_the_maximum_fails(broker):
    broker.stuck_at = 20
    done = run(broker, op(F.DRAIN))
    assert (done.type, [record.offset for record in done.records]) == (Type.FAIL, [*range(20)])
    assert (done.min_offset, done.next_offset, done.max_offset) == (0, 20, 25)
    assert done.error == "read stopped below the maximum offset: PULL_NOT_FOUND"


def ends_after(broker, pages, ending):
    """Let the broker serve some pulls, and then something else."""
    serve = broker._pull

    def pull(at, count):
        if broker.served.count(Request.PULL_MESSAGE) <= pages:
            return serve(at, count)
        return ending(at)

    broker._pull = pull


OFFSETS = {"nextBeginOffset": "99", "minOffset": "0", "maxOffset": "25"}
TORN = encode_messages(Message("chaos", 0, n, 0, payload.encode(Value(1, n), 0, RUN), True, {}) for n in (10, 11))[:-1]


@pytest.mark.parametrize(
    ("ending", "kind", "error", "given"),
    [
        (lambda _: (Code.SYSTEM_BUSY, {}, b""), Type.FAIL, "SYSTEM_BUSY", 10),
        (lambda _: (Code.SUCCESS, OFFSETS, TORN), Type.INFO, "malformed answer: stored message", 11),
        (lambda _: (Code.SUCCESS, {**OFFSETS, "maxOffset": "x"}, b""), Type.INFO, "ValueError", 10),
    ],
)
@pytest.mark.parametrize("f", [F.DRAIN, F.REPLICA])
def test_a_read_that_ends_badly_has_what_it_was_given(broker, f, ending, kind, error, given):
    ends_after(broker, 1, ending)
    done = run(broker, op(f, argument=[node.name for node in VIEW.nodes].index("b1")))
    assert (done.type, done.node) == (kind, "b1")
    assert done.error is not None
    assert done.error.startswith(error)
    assert [record.offset for record in done.records] == list(range(given))


def test_a_deadline_between_two_pulls_leaves_what_was_given(broker):
    broker.silent_after = 2
    done = run(broker, op(F.DRAIN, timeout_s=2))
    assert (done.type, done.error) == (Type.INFO, "no answer before the deadline")
    assert [record.offset for record in done.records] == list(range(20))
    assert (done.node, done.next_offset, done.max_offset) == ("b1", 20, 25)


def test_records_that_take_a_read_no_further_were_given(broker):
    below = encode_messages([Message("chaos", 0, 4, 0, payload.encode(Value(1, 4), 0, RUN), True, {})])
    ends_after(broker, 1, lambda at: (Code.SUCCESS, {**OFFSETS, "nextBeginOffset": str(at)}, below))
    for f, kind in ((F.READ, Type.FAIL), (F.REPLICA, Type.OK)):
        broker.served.clear()
        done = run(broker, op(f, offset=0 if f is F.READ else None, argument=4))
        assert (done.type, done.next_offset) == (kind, 10)
        assert [record.offset for record in done.records] == [*range(10), 4]


def test_a_poll_is_one_pull_and_asks_nothing_else(broker):
    broker.page = 1000
    done = run(broker, op(F.POLL, offset=0))
    assert (done.type, len(done.records), done.next_offset, done.max_offset) == (Type.OK, 25, 25, 25)
    assert set(broker.served) == {Request.GET_ROUTEINFO_BY_TOPIC, Request.PULL_MESSAGE}


def test_a_send_carries_the_value_and_is_sent_once(broker):
    done = run(broker, op(F.SEND, body_bytes=77))
    assert done == Told(type=Type.OK, node="b1", offset=0)
    assert [payload.decode(body, 0, RUN) for body in broker.sent] == [Value(1, 2)]
    assert len(broker.sent[0]) == 77


@pytest.mark.parametrize(
    ("answer", "done"),
    [
        ((12, {"queueOffset": "5"}, b""), (Type.INFO, 5, "FLUSH_SLAVE_TIMEOUT")),
        ((2, {}, b""), (Type.FAIL, None, "SYSTEM_BUSY")),
        ((0, {}, b""), (Type.INFO, None, "SUCCESS: without an offset")),
        ((4711, {}, b""), (Type.INFO, None, "code 4711")),
    ],
)
def test_answers_to_a_send(broker, answer, done):
    broker.send_answer = answer
    got = run(broker, op(F.SEND))
    assert (got.type, got.offset, got.error) == done


def test_a_send_without_an_answer_is_in_doubt(broker):
    broker.silent = {Request.SEND_MESSAGE_V2}
    done = run(broker, op(F.SEND, timeout_s=0.1))
    assert done == Told(type=Type.INFO, node="b1", error="no answer before the deadline")
    assert len(broker.served) == 2  # the route and one send


def test_no_route_is_no_attempt(broker):
    broker.silent = {Request.GET_ROUTEINFO_BY_TOPIC}
    done = run(broker, op(F.SEND, timeout_s=0.1))
    assert done == Told(type=Type.FAIL, error="no route: the name server did not answer")


def test_a_route_without_master_or_slaves(broker):
    broker.route = {2: "b2"}
    assert run(broker, op(F.SEND)).error == "no leader in the route"
    broker.route = {0: "b2"}
    assert run(broker, op(F.SLAVE_READ, offset=0)).error == "no slave in the route"
    assert broker.sent == []


def test_slave_reads_never_go_to_the_master_of_the_route(broker):
    done = run(broker, *[op(F.SLAVE_READ, offset=0)] * 20)
    assert {completion.node for completion in done} == {"b2", "b3"}


@pytest.mark.parametrize(("number", "pinned", "slaves"), [(5, "b1", {"b2", "b3"}), (6, "b2", {"b2"})])
def test_pinned_clients(broker, number, pinned, slaves):
    done = run(broker, op(F.SEND), op(F.POLL, offset=0), op(F.READ, offset=0), number=number, routing="mixed")
    assert {completion.node for completion in done} == {pinned}
    read = run(broker, *[op(F.SLAVE_READ, offset=0)] * 20, number=number, routing="mixed")
    assert {completion.node for completion in read} == slaves


def test_a_pinned_client_needs_no_route(broker):
    broker.silent = {Request.GET_ROUTEINFO_BY_TOPIC}
    assert run(broker, op(F.SEND), number=6, routing="mixed").type is Type.OK


def test_a_malformed_answer_is_in_doubt(broker):
    broker._pull = lambda at, _count: (0, {"nextBeginOffset": "1", "minOffset": "0", "maxOffset": "1"}, b"torn")
    done = run(broker, op(F.POLL, offset=0))
    assert (done.type, done.error) == (Type.INFO, "malformed answer: stored message that does not parse")


def test_the_route_is_looked_at_by_the_clock_and_not_by_errors(broker):
    broker.send_answer = (2, {}, b"")
    run(broker, *[op(F.SEND)] * 30)
    assert broker.served.count(Request.GET_ROUTEINFO_BY_TOPIC) == 1
