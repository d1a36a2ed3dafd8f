"""What a client of logs asks of a server for each operation, and what it makes of the answers."""

import asyncio
import base64
import json

import pytest
from nats_server import NOBODY, FakeNats, Status, refused, stored
from scripted import raised_and_given
from system_view import view_of

from chaos.basics.rand import run_hash
from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S
from chaos.core.op import Invocation, Type
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send
from chaos.models.log.words import F, Record, Value
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.nats.log import POLLED, LogClient
from cluster.systems.nats.outcomes import TABLE
from cluster.systems.nats.system import Nats

VIEW = view_of(Nats(), cluster__streams="log")
STREAM = f"{VIEW.mark}-q3"
GET, INFO, DIRECT = (f"$JS.API.{name}.{STREAM}" for name in ("STREAM.MSG.GET", "STREAM.INFO", "DIRECT.GET"))
NOTHING = refused(10037, "no message found", 404)
NOT_THERE = Status(" 404 Message Not Found")


def op(f, argument=None):
    return Invocation(process=17, client=0, f=f, key=3, deadline_ns=0, argument=argument)


SEND = op(F.SEND, Send(value=Value(1, 5)))
POLL, READ, SLAVE = (op(f, ReadFrom(offset=2)) for f in (F.POLL, F.READ, F.SLAVE_READ))
DRAIN = op(F.DRAIN)


def body(sequence):
    return payload.encode(Value(1, sequence), 3, run_hash(VIEW.run_id))


class Held:
    """A server whose stream goes to a last sequence, without a message at some; ``told``: what it says of itself."""

    def __init__(self, last, without=(), **told):
        self.there = [number for number in range(1, last + 1) if number not in without]
        self.state = {"first_seq": 1, "last_seq": last, "messages": len(self.there), "deleted": [*without], **told}

    def answer(self, subject, asked, _):
        if subject == STREAM:
            return stored(9)
        if subject == INFO:
            return {"cluster": {"leader": "n1"}, "state": self.state}
        wanted = json.loads(asked)
        found = [one for one in self.there if one >= wanted["seq"]] if "next_by_subj" in wanted else self.there
        number = min(found, default=None) if "next_by_subj" in wanted else wanted["seq"]
        there = number in found
        if subject == DIRECT:
            return Status("", [f"Nats-Sequence: {number}"], body(number)) if there else NOT_THERE
        data = base64.b64encode(body(number or 0)).decode()
        return {"message": {"seq": number, "data": data}} if there else NOTHING


class Fixed:
    """A route that is always the same."""

    async def ask(self, deadline_ns):
        return Route((Served("n2", ("n3",)),))

    def close(self):
        pass


async def client_of(server):
    client = LogClient(VIEW, -1, 8, seed=1)
    client._links = {node.name: server.link for node in VIEW.nodes}
    client._route._source = Fixed()
    return client


def run(one, answer):
    """What an operation raised and was given, and the requests."""

    async def scenario():
        async with FakeNats(answer) as server:
            client = await client_of(server)
            out, received = await raised_and_given(client, one)
            await client.close()
            return out, received, server.asked

    return asyncio.run(scenario())


def records(*sequences):
    return [Record(one, Value(1, one)) for one in sequences]


def test_a_send_is_one_message_whose_sequence_is_the_offset():
    out, received, asked = run(SEND, Held(8).answer)
    assert (out, received.result, received.node) == (None, Placed(9), "n2")
    assert asked == [(STREAM, body(5), {})]


def test_a_send_that_must_be_taken_once_has_an_id():
    once = op(F.SEND, Send(value=Value(1, 5), producer="0.3.1", producer_sequence=7))
    _, received, ((subject, _, headers),) = run(once, lambda *_: {**stored(4), "duplicate": True})
    assert (received.result, subject, headers) == (Placed(4), STREAM, {"Nats-Msg-Id": "0.3.1-7"})


@pytest.mark.parametrize("row", [row for row in TABLE if row.name.isdecimal()], ids=lambda row: row.name)
def test_what_an_error_makes_of_a_send(row):
    number = int(row.name)
    error = refused(0, "raft: not leader", number) if number < 1000 else refused(number, "why")
    out, received, asked = run(SEND, lambda *_: error)
    kind = Definite if row.type is Type.FAIL else Indefinite
    assert (out[0], received.result, len(asked)) == (kind, None, 1)


@pytest.mark.parametrize(("answer", "kind"), [(NOBODY, Definite), (StopIteration, Indefinite), ("none", Indefinite)])
def test_what_no_answer_makes_of_a_send(answer, kind):
    out, received, asked = run(SEND, lambda *_: answer)
    assert (out[0], received.result, len(asked)) == (kind, None, 1)


@pytest.mark.parametrize(
    ("one", "held", "given"),
    [
        (POLL, Held(4), Given(records(2, 3, 4), 5)),
        (POLL, Held(1), Given([], 2)),
        (POLL, Held(5, without=(2, 3)), Given(records(4, 5), 6)),
        (POLL, Held(5, without=(4,)), Given(records(2, 3), 4)),
        (POLL, Held(90), Given(records(*range(2, 2 + POLLED)), 2 + POLLED)),
        (SLAVE, Held(4), Given(records(2, 3, 4), 5)),
        (SLAVE, Held(0), Given([], 2)),
        (READ, Held(4), Given(records(2, 3, 4), 5, 1, 5)),
        (READ, Held(4, without=(3,)), Given(records(2, 4), 5, 1, 5)),
        (READ, Held(9, without=(1, 2, 3), first_seq=4), Given(records(*range(4, 10)), 10, 4, 10)),
        (DRAIN, Held(0, first_seq=0), Given([], 1, 1, 1)),
        (DRAIN, Held(600), Given(records(*range(1, 601)), 601, 1, 601)),
    ],
)
def test_what_a_read_is_given(one, held, given):
    out, received, asked = run(one, held.answer)
    assert (out, received.result) == (None, given)
    direct = one.f is F.SLAVE_READ
    assert {subject for subject, *_ in asked} <= ({DIRECT} if direct else {GET, INFO})


def test_a_strong_read_is_by_who_leads():
    assert run(READ, Held(4).answer)[1].node == "n1", "whoever passed it on"
    assert run(SLAVE, Held(4).answer)[1].node is None, "any server that has it may answer"


@pytest.mark.parametrize(
    ("one", "held", "why"),
    [
        (READ, Held(4, without=(3,), deleted=[]), "2 messages were given, and the leader had named 3"),
        (DRAIN, Held(4, last_seq=6), "4 messages were given, and the leader had named 6"),
    ],
)
def test_a_message_that_was_named_and_is_not_there_fails_the_read(one, held, why):
    out, received, _ = run(one, held.answer)
    assert out == (Definite, why)
    assert received.result.records, "what was received is recorded"


@pytest.mark.parametrize("one", [POLL, READ, DRAIN, SLAVE], ids=lambda one: one.f.word)
def test_a_read_that_is_refused_has_failed(one):
    assert run(one, lambda *_: NOBODY)[0] == (Definite, "no responders")


def test_what_came_before_an_error_is_recorded():
    def answer(subject, asked, headers):
        if subject == GET and json.loads(asked).get("seq") == 4:
            return refused(10008, "JetStream system temporarily unavailable", 503)
        return Held(5).answer(subject, asked, headers)

    out, received, _ = run(READ, answer)
    assert (issubclass(out[0], Definite), out[1]) == (True, "10008 JetStream system temporarily unavailable")
    assert [record.offset for record in received.result.records] == [2, 3, 5]


@pytest.mark.parametrize("one", [SEND, POLL, READ, DRAIN, SLAVE], ids=lambda one: one.f.word)
def test_a_paused_server_gets_each_operation_once(one):
    """It reads nothing until the operation is over; then it finds the first requests of each, on two connections."""

    async def scenario():
        async with FakeNats(lambda *_: None) as server:
            server.paused = True
            client = await client_of(server)
            out = [(await raised_and_given(client, one, NS_PER_S // 12))[0] for _ in range(2)]
            await client.close()
            server.resumed.set()
            await server.heard_out()
            return out, len(server.asked), server.connections

    first = POLLED if one is SLAVE else 1
    out, asked, connections = asyncio.run(scenario())
    assert out == [(Indefinite, NO_ANSWER)] * 2
    assert asked == 2 * first
    assert connections >= 2
