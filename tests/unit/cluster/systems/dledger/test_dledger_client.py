"""What a client asks of a node for each operation, and what it makes of the answers."""

import asyncio

import pytest
from dledger_node import Busy, FakeNode, FakeObserver, entry
from scripted import raised_and_given
from system_view import view_of

from chaos.basics.rand import run_hash
from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S
from chaos.core.op import Invocation, Type
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadCopy, ReadFrom, Send
from chaos.models.log.words import F, Record, Value
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.dledger.client import MARK, POLLED, DLedgerClient, record_of
from cluster.systems.dledger.ledger import NOOP, Entry
from cluster.systems.dledger.outcomes import TABLE
from cluster.systems.dledger.system import DLedger

VIEW = view_of(DLedger())
RUN = run_hash(VIEW.run_id)


def op(f, argument=None):
    return Invocation(process=17, client=0, f=f, key=3, deadline_ns=0, argument=argument)


SEND = op(F.SEND, Send(value=Value(1, 5)))
POLL, READ, SLAVE = (op(f, ReadFrom(offset=2)) for f in (F.POLL, F.READ, F.SLAVE_READ))
DRAIN, COPY = op(F.DRAIN), op(F.REPLICA, ReadCopy(node=1))


def body(number, key=3):
    return payload.encode(Value(1, number), key, RUN)


class Log:
    """A leader with entries; of some keys other than 3 the entry belongs to that queue. ``gone``: these do not come."""

    def __init__(self, last, others=None, gone=(), refusal=None):
        self.entries = {number: body(number, (others or {}).get(number, 3)) for number in range(last + 1)}
        self.gone, self.refusal = gone, refusal

    def answer(self, kind, fields):
        assert (fields["group"], fields["remoteId"]) == ("dledger", "n2")
        if kind == "append":
            index = len(self.entries)
            self.entries[index] = bytes(one & 255 for one in fields["body"])
            return {"code": 200, "index": index, "pos": 9, "term": 1}
        index = fields["beginIndex"]
        if index in self.gone:
            return {"code": self.refusal, "entries": []}
        if index not in self.entries:
            return {"code": 410, "entries": []}
        return {"code": 200, "entries": [entry(index, self.entries[index])]}

    def tell(self, path, asked):
        """As the observer of a node that knows all but the last two entries to be committed."""
        assert path == "/entries"
        last = len(self.entries) - 1 - (2 if asked["to"] == "committed" else 0)
        first = int(asked["from"])
        until = min(last, first + int(asked["count"]) - 1)
        there = [number for number in range(first, until + 1) if number not in self.gone]
        return {"begin": 0, "last": last, "entries": [entry(number, self.entries[number]) for number in there]}


class Fixed:
    """A route that is always the same."""

    async def ask(self, deadline_ns):
        return Route((Served("n2", ("n3",)),))

    def close(self):
        pass


async def client_of(node, observer=None, **settings):
    client = DLedgerClient(view_of(DLedger(), **settings), -1, 8, seed=1)
    client._links = {one.name: node.ledger for one in VIEW.nodes}
    client._route._source = Fixed()
    if observer is not None:
        client._observers.by_name = {one.name: observer for one in VIEW.nodes}
    return client


def run(one, answer, tell=lambda *_: "no", **settings):
    """What an operation raised and was given, and the requests."""

    async def scenario():
        async with FakeNode(answer) as node, FakeObserver(tell) as observer:
            client = await client_of(node, observer.observer, **settings)
            out, received = await raised_and_given(client, one)
            await client.close()
            return out, received, node.asked

    return asyncio.run(scenario())


def records(*numbers):
    return [Record(one, Value(1, one)) for one in numbers]


def test_a_send_is_one_append_whose_index_is_the_offset():
    out, received, asked = run(SEND, Log(8).answer)
    assert (out, received.result, received.node) == (None, Placed(9), "n2")
    assert [(kind, bytes(one & 255 for one in fields["body"])) for kind, fields in asked] == [("append", body(5))]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.error)
def test_what_an_error_makes_of_a_send(row):
    said = Busy(row.code) if row.remoting else {"code": row.code, "index": 4}
    out, received, asked = run(SEND, lambda *_: said)
    kind = Definite if row.type is Type.FAIL else Indefinite
    assert (out, len(asked)) == ((kind, row.error), 1)
    assert received.result == (None if row.remoting else Placed(4)), "what was received is recorded"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (StopIteration, "connection"),
        (b"none", "malformed answer"),
        ({"code": 200}, "acknowledged without an index"),
        ({"code": 499}, "code 499"),
    ],
)
def test_what_an_odd_answer_makes_of_a_send(said, why):
    out, _, asked = run(SEND, lambda *_: said)
    assert (out[0], why in out[1], len(asked)) == (Indefinite, True, 1)


@pytest.mark.parametrize(
    ("one", "log", "given"),
    [
        (READ, Log(4), Given(records(2, 3, 4), 6, 0, 6)),
        (POLL, Log(4), Given(records(2, 3, 4), 6, 0, 6)),
        (POLL, Log(0), Given([], 2, 0, 2)),
        (READ, Log(4, others={3: 0}), Given(records(2, 4), 6, 0, 6)),
        (POLL, Log(90), Given(records(*range(2, 2 + POLLED)), 2 + POLLED, 0, 92)),
        (DRAIN, Log(-1), Given([], 1, 0, 1)),
        (DRAIN, Log(300), Given(records(*range(301)), 302, 0, 302)),
    ],
)
def test_a_confirmed_read_ends_at_a_mark_that_was_acknowledged(one, log, given):
    out, received, asked = run(one, log.answer)
    assert (out, received.result) == (None, given)
    assert [bytes(one & 255 for one in fields["body"]) for kind, fields in asked if kind == "append"] == [MARK]
    assert asked[0][0] == "append", "the mark comes first"


@pytest.mark.parametrize("one", [POLL, READ, DRAIN], ids=lambda one: one.f.word)
@pytest.mark.parametrize(("code", "kind"), [(404, Definite), (502, Indefinite)])
def test_nothing_is_read_where_the_mark_is_not_acknowledged(one, code, kind):
    out, received, asked = run(one, lambda *_: {"code": code})
    assert (out[0], received.result.records, len(asked)) == (kind, [], 1)


@pytest.mark.parametrize("one", [POLL, READ], ids=lambda one: one.f.word)
def test_a_read_that_is_not_confirmed_goes_as_far_as_the_leader_does(one):
    out, received, asked = run(one, Log(4).answer, client__reads="leader")
    assert (out, received.result.records, received.result.next_offset) == (None, records(2, 3, 4), 5)
    assert {kind for kind, _ in asked} == {"get"}


def test_the_final_reads_are_confirmed_whatever_is_set():
    for reads in ("leader", "follower"):
        _, received, asked = run(DRAIN, Log(2).answer, client__reads=reads)
        assert (asked[0][0], received.result.records) == ("append", records(0, 1, 2))


@pytest.mark.parametrize(
    ("one", "settings", "given", "node"),
    [
        (SLAVE, {}, Given(records(2, 3, 4), 5, 0, 5), "n3"),
        (COPY, {}, Given(records(*range(7)), 7, 0, 7), "n2"),
        (READ, {"client__reads": "follower"}, Given(records(2, 3, 4), 5, 0, 5), "n3"),
    ],
)
def test_what_a_node_holds_is_asked_of_its_observer(one, settings, given, node):
    log = Log(6)
    out, received, asked = run(one, log.answer, log.tell, **settings)
    assert (out, received.result, received.node, asked) == (None, given, node, [])


def test_a_copy_is_read_page_by_page():
    log = Log(2500, others={7: 1})
    out, received, _ = run(COPY, log.answer, log.tell)
    assert out is None
    assert [one.offset for one in received.result.records] == [number for number in range(2501) if number != 7]


@pytest.mark.parametrize(
    ("one", "log", "why"),
    [
        (READ, Log(4, gone=(3,), refusal=410), (Definite, "entry 3 is not there, and 5 was acknowledged")),
        (READ, Log(4, gone=(3,), refusal=404), (Definite, "404 NOT_LEADER")),
        (COPY, Log(4, gone=(3, 4)), (Definite, "entry 3 of 4 is not there")),
    ],
)
def test_what_came_before_an_entry_that_does_not_is_recorded(one, log, why):
    out, received, _ = run(one, log.answer, log.tell)
    assert (out, received.result.records[-1].offset >= 2) == (why, True)


def test_an_observer_that_cannot_say_fails_the_read():
    assert run(SLAVE, Log(1).answer)[0] == (Definite, "status 500: no")


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (Entry(4, 1, body(7)), Record(4, Value(1, 7))),
        (Entry(4, 1, body(7, key=1)), None),
        (Entry(4, 1, MARK), None),
        (Entry(4, 1, [one - 256 if one > 127 else one for one in body(7)]), Record(4, Value(1, 7))),
        (Entry(4, NOOP, b""), None),
        (Entry(4, NOOP), None),
        (Entry(4, 1, b""), Record(4, None)),
        (Entry(4, 1, b"x" + body(7)[1:]), Record(4, None)),
        (Entry(4, 1, body(7, key=9)), Record(4, None)),
    ],
)
def test_what_an_entry_is_to_a_queue(one, found):
    assert record_of(one, 3, 4, RUN) == found


@pytest.mark.parametrize("one", [SEND, POLL, READ, DRAIN], ids=lambda one: one.f.word)
def test_a_paused_node_gets_each_operation_once(one):
    """It reads nothing until the operation is over; then it finds one request of each, on two connections."""

    async def scenario():
        async with FakeNode(lambda *_: None) as node:
            node.paused = True
            client = await client_of(node)
            out = [(await raised_and_given(client, one, NS_PER_S // 12))[0] for _ in range(2)]
            await client.close()
            node.resumed.set()
            await node.heard_out()
            return out, [kind for kind, _ in node.asked], node.connections

    out, asked, connections = asyncio.run(scenario())
    assert (out, asked) == ([(Indefinite, NO_ANSWER)] * 2, ["append"] * 2)
    assert connections >= 2
