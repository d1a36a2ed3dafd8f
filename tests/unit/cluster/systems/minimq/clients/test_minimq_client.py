"""The client against a scripted broker on the loopback: what a real one cannot be made to do on demand.

Changing its epoch between two pages of one strong read, giving less than it named, answering nonsense. What real
brokers do is in tests/e2e_netns/test_minimq.py.
"""

import pytest
from log_ops import Told
from minimq_broker import RUN, TOPIC, Broker, stored_as
from minimq_view import view_of
from scripted import invoked, op

from chaos.core.op import Type
from chaos.models.log import payload
from chaos.models.log.words import F, Record, Value
from cluster.systems.minimq.clients.client import MiniMQClient
from cluster.systems.minimq.clients.rpc import Link
from cluster.systems.minimq.protocol import messages
from cluster.systems.minimq.protocol.broker_messages import (
    Commit,
    FetchCommitted,
    GetOffsets,
    Poll,
    Polled,
    Produce,
    Produced,
    Read,
    Rejected,
)
from cluster.systems.minimq.protocol.messages import Accepted, GetMetadata, Group, Metadata, Refused, Registered
from cluster.systems.minimq.storage.commit_log import QueueKey, data_record


def run(broker, *ops, number=0, routing="follow"):
    def client_at(port):
        view = view_of(client__routing=routing, client__routePollInterval="3600")
        client = MiniMQClient(view, number, 8, seed=1)
        for links in (client._links, client._route._source._links):
            links |= {name: Link("127.0.0.1", port) for name in links}
        return client

    return invoked(broker.serve, client_at, *ops)


@pytest.fixture
def broker():
    made = Broker()
    made.log = [Value(1, n) for n in range(25)]
    return made


# ---------------------------------------------------------------- strong reads


def test_a_strong_read_goes_to_the_end_in_several_pages(broker):
    done = run(broker, op(F.READ, offset=3))
    assert (done.type, done.node, done.min_offset, done.max_offset, done.next_offset) == (Type.OK, "b1", None, 25, 25)
    assert done.records == tuple(Record(n, Value(1, n)) for n in range(3, 25))
    assert broker.served.count(Read) == 3
    assert GetOffsets not in broker.served


def test_a_drain_begins_at_the_least_offset(broker):
    broker.least = 5
    done = run(broker, op(F.DRAIN))
    assert (done.type, done.min_offset, done.max_offset, done.next_offset) == (Type.OK, 5, 25, 25)
    assert [record.offset for record in done.records] == list(range(5, 25))


def test_an_empty_queue_is_drained_by_one_question(broker):
    broker.log = []
    done = run(broker, op(F.DRAIN))
    assert (done.type, done.records, done.min_offset, done.max_offset, done.next_offset) == (Type.OK, (), 0, 0, 0)
    assert Read not in broker.served


def test_a_replicas_own_copy_is_asked_of_the_replica_that_is_named_page_by_page(broker):
    position = [node.name for node in view_of().nodes].index("b3")
    done = run(broker, op(F.REPLICA, argument=position))
    assert (done.type, done.node, done.min_offset, done.max_offset, done.next_offset) == (Type.OK, "b3", 0, 25, 25)
    assert done.records == tuple(Record(n, Value(1, n)) for n in range(25))
    assert set(broker.served) == {Poll}


def test_a_copy_ends_where_the_replica_shows_no_more(broker):
    broker.end = 40
    done = run(broker, op(F.REPLICA, argument=3))
    assert (done.type, done.next_offset, len(done.records), done.max_offset) == (Type.OK, 25, 25, 40)


def test_an_empty_copy_is_a_copy(broker):
    broker.log = []
    done = run(broker, op(F.REPLICA, argument=3))
    assert (done.type, done.next_offset, done.records) == (Type.OK, 0, ())


@pytest.mark.parametrize("offset", [25, 5000])
def test_a_strong_read_of_nothing_new_asks_the_master(broker, offset):
    done = run(broker, op(F.READ, offset=offset))
    assert (done.type, done.records, done.next_offset, done.max_offset) == (Type.OK, (), offset, 25)
    assert broker.served.count(Read) == 1


def test_the_end_is_the_one_first_told(broker):
    broker.end = 12
    done = run(broker, op(F.READ, offset=0))
    assert ([record.offset for record in done.records], done.next_offset, done.max_offset) == ([*range(12)], 12, 12)


def test_an_end_beyond_the_last_record_says_that_nothing_is_between(broker):
    broker.end = 30
    done = run(broker, op(F.READ, offset=20))
    assert ([record.offset for record in done.records], done.next_offset, done.max_offset) == ([*range(20, 25)], 30, 30)


@pytest.mark.parametrize("f", [F.READ, F.DRAIN])
def test_a_strong_read_over_a_change_of_epoch_fails_with_what_it_was_given(broker, f):
    broker.epochs = [7, 7, 8]
    done = run(broker, op(f, offset=0 if f is F.READ else None))
    assert (done.type, done.node, done.error) == (Type.FAIL, "b1", "not master of the same epoch any more")
    given = 25 if f is F.READ else 20  # a drain's first answer is that of its offsets
    assert [record.offset for record in done.records] == [*range(given)]
    assert (done.next_offset, done.max_offset) == (given, 25)


def test_a_strong_read_whose_end_steps_back_fails(broker):
    answers = [Polled(records=(stored_as(0, Value(1, 0)),), end=9, epoch=7), Polled(records=(), end=3, epoch=7)]
    broker.polled = lambda _at, _count: answers.pop(0)
    done = run(broker, op(F.READ, offset=0))
    assert (done.type, done.error) == (Type.FAIL, "not master of the same epoch any more")
    assert (done.records, done.next_offset, done.max_offset) == ((Record(0, Value(1, 0)),), 1, 9)


def test_a_strong_read_that_is_not_taken_further_fails(broker):
    broker.polled = lambda _at, _count: Polled(records=(stored_as(0, Value(1, 0)),), end=9, epoch=7)
    done = run(broker, op(F.READ, offset=5))
    assert (done.type, done.error) == (Type.FAIL, "the broker gave only records below the offset asked for")
    assert (done.records, done.next_offset) == ((Record(0, Value(1, 0)),), 5)


@pytest.mark.parametrize(
    ("ending", "kind", "error"),
    [
        (Rejected(reason="not-master", master="b2"), Type.FAIL, "rejected: not-master"),
        (messages.Indefinite(reason="stepped-down"), Type.INFO, "indefinite: stepped-down"),
        (Produced(offset=1, epoch=7), Type.INFO, "unexpected answer: Produced"),
        (b"\x00\x00\x00\x01\xc1", Type.INFO, "malformed answer"),
        (None, Type.INFO, "no answer before the deadline"),
    ],
)
@pytest.mark.parametrize("f", [F.READ, F.DRAIN, F.REPLICA])
def test_a_read_that_ends_badly_has_what_it_was_given(broker, f, ending, kind, error):
    serve, asked = broker.polled, []

    def polled(at, count):
        asked.append(at)
        return serve(at, count) if len(asked) <= 2 else ending

    broker.polled = polled
    position = [node.name for node in view_of().nodes].index("b1")
    offset, timeout_s = 0 if f is F.READ else None, 2 if ending is None else 5
    done = run(broker, op(f, timeout_s, offset=offset, argument=position))
    assert (done.type, done.node) == (kind, "b1")
    assert done.error is not None
    assert done.error.startswith(error)
    assert done.records == tuple(Record(n, Value(1, n)) for n in range(20))
    assert (done.next_offset, done.max_offset) == (20, 25)


@pytest.mark.parametrize("f", [F.READ, F.DRAIN, F.REPLICA, F.POLL])
def test_a_read_that_was_refused_at_once_was_given_nothing(broker, f):
    broker.answer = lambda request: (
        broker.metadata() if isinstance(request, GetMetadata) else Rejected(reason="not-master", master="b2")
    )
    position = [node.name for node in view_of().nodes].index("b1")
    done = run(broker, op(f, offset=7 if f is F.READ else None, argument=position))
    assert done == Told(type=Type.FAIL, node="b1", error="rejected: not-master")


def test_a_copy_that_gives_what_lies_below_ends_there(broker):
    answers = [[stored_as(n, Value(1, n)) for n in range(3)], [stored_as(1, Value(1, 9))]]
    broker.polled = lambda _at, _count: Polled(records=tuple(answers.pop(0)), end=9, epoch=7)
    done = run(broker, op(F.REPLICA, argument=3))
    assert (done.type, done.next_offset, done.max_offset) == (Type.OK, 3, 9)
    assert done.records == (*(Record(n, Value(1, n)) for n in range(3)), Record(1, Value(1, 9)))


def test_a_poll_that_gives_what_lies_below_is_answered(broker):
    broker.polled = lambda _at, _count: Polled(records=(stored_as(0, Value(1, 0)),), end=9, epoch=7)
    done = run(broker, op(F.POLL, offset=5))
    assert (done.type, done.records, done.next_offset) == (Type.OK, (Record(0, Value(1, 0)),), 5)


# ---------------------------------------------------------------- polls and sends


def test_a_poll_is_one_request_and_asks_nothing_else(broker):
    broker.page = 1000
    done = run(broker, op(F.POLL, offset=0))
    assert (done.type, len(done.records), done.next_offset, done.max_offset) == (Type.OK, 25, 25, 25)
    assert set(broker.served) == {GetMetadata, Poll}


def test_a_poll_at_the_end_stays_there(broker):
    done = run(broker, op(F.POLL, offset=25))
    assert (done.type, done.records, done.next_offset) == (Type.OK, (), 25)


def test_a_reader_goes_on_behind_the_highest_record(broker):
    given = tuple(stored_as(n, Value(1, n)) for n in (2, 0, 1))
    broker.polled = lambda _at, _count: Polled(records=given, end=3, epoch=7)
    done = run(broker, op(F.POLL, offset=0))
    assert ([record.offset for record in done.records], done.next_offset) == ([2, 0, 1], 3)


def test_a_damaged_body_is_no_value(broker):
    broken = data_record(7, QueueKey(TOPIC, 0), 0, b"x" * 50, "", -1)
    broker.polled = lambda _at, _count: Polled(records=(broken, stored_as(1, Value(1, 1), key=3)), end=2, epoch=7)
    assert run(broker, op(F.POLL, offset=0)).records == (Record(0, None), Record(1, None))


def test_a_send_carries_the_value_and_is_sent_once(broker):
    done = run(broker, op(F.SEND, body_bytes=77))
    assert done == Told(type=Type.OK, node="b1", offset=0)
    (sent,) = broker.produced
    assert (payload.decode(sent.body, 0, RUN), len(sent.body), sent.sequence) == (Value(1, 2), 77, -1)


@pytest.mark.parametrize(
    ("answer", "kind", "error"),
    [
        (Rejected(reason="not-master", master="b2"), Type.FAIL, "rejected: not-master"),
        (Rejected(reason="too-few-in-sync"), Type.FAIL, "rejected: too-few-in-sync"),
        (messages.Indefinite(reason="stepped-down"), Type.INFO, "indefinite: stepped-down"),
        (Polled(records=(), end=0, epoch=1), Type.INFO, "unexpected answer: Polled"),
        (b"\x00\x00\x00\x01\xc1", Type.INFO, "malformed answer"),
        (b"\xff\xff\xff\xff", Type.INFO, "malformed answer: a frame of 4294967295 bytes"),
    ],
)
def test_answers_to_a_send(broker, answer, kind, error):
    broker.send_answer = answer
    done = run(broker, op(F.SEND))
    assert (done.type, done.offset) == (kind, None)
    assert done.error is not None
    assert done.error.startswith(error)


def test_a_message_that_no_frame_holds_is_not_sent(broker):
    done = run(broker, op(F.SEND, body_bytes=17 << 20))
    assert (done.type, broker.produced) == (Type.FAIL, [])
    assert done.error is not None
    assert done.error.startswith("not sent: a frame of")


def test_a_send_without_an_answer_is_in_doubt(broker):
    broker.silent = {Produce}
    _, done = run(broker, op(F.POLL, offset=0), op(F.SEND, timeout_s=0.1))  # the poll opens the connection
    assert done == Told(type=Type.INFO, node="b1", error="no answer before the deadline")
    assert broker.served.count(Produce) == 1


# ---------------------------------------------------------------- the consumer group, idempotent sends


def test_the_group_goes_on_where_it_committed(broker):
    before, commit, after = run(broker, op(F.COMMITTED_READ), op(F.COMMIT, offset=12), op(F.COMMITTED_READ))
    assert before == Told(type=Type.OK, node="b1", next_offset=None)
    assert commit == Told(type=Type.OK, node="b1")
    assert after == Told(type=Type.OK, node="b1", next_offset=12)


def test_all_clients_are_one_group(broker):
    for number in (0, 1):
        run(broker, op(F.COMMIT, offset=number), number=number)
    assert list(broker.committed.values()) == [1]


@pytest.mark.parametrize(("f", "request_kind"), [(F.COMMIT, Commit), (F.COMMITTED_READ, FetchCommitted)])
def test_a_commit_or_question_without_an_answer_is_in_doubt(broker, f, request_kind):
    broker.silent = {request_kind}
    _, done = run(broker, op(F.POLL, offset=0), op(f, timeout_s=0.1, offset=3))
    assert done == Told(type=Type.INFO, node="b1", error="no answer before the deadline")


def test_a_long_poll_says_how_long_it_waits(broker):
    run(broker, op(F.POLL, offset=0, wait_ms=300), op(F.SLAVE_READ, offset=0))
    assert [request.wait_ms for request in broker.asked if isinstance(request, Poll)] == [300, 0]


def test_an_idempotent_send_carries_its_producer_and_number(broker):
    run(broker, op(F.SEND, producer="0.3.1", producer_sequence=4))
    assert [(sent.producer, sent.sequence) for sent in broker.produced] == [("0.3.1", 4)]


# ---------------------------------------------------------------- the route


def test_no_route_is_no_attempt(broker):
    broker.silent = {GetMetadata}
    done = run(broker, op(F.SEND, timeout_s=0.1))
    assert done == Told(type=Type.FAIL, error="no route: the controllers did not answer")


def test_one_controller_that_leads_is_enough(broker):
    answers = [Refused(reason="not-leader", leader="c3"), None, broker.metadata()]
    broker.metadata = lambda: answers.pop(0)
    assert run(broker, op(F.SEND)).type is Type.OK


def test_a_route_without_master_or_slaves(broker):
    broker.master = None
    assert run(broker, op(F.SEND)).error == "no leader in the route"
    alone = Group(brokers=(Registered(broker="b1", incarnation="1"),), master="b1", epoch=7)
    broker.metadata = lambda: Accepted(metadata=Metadata(version=1, group=alone))
    assert run(broker, op(F.SLAVE_READ, offset=0)).error == "no slave in the route"
    assert broker.produced == []


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
    broker.silent = {GetMetadata}
    assert run(broker, op(F.SEND), number=6, routing="mixed").type is Type.OK


def test_the_route_is_looked_at_by_the_clock_and_not_by_errors(broker):
    broker.send_answer = Rejected(reason="not-master", master="b2")
    run(broker, *[op(F.SEND)] * 30)
    assert broker.served.count(GetMetadata) <= 3  # once, of each controller
