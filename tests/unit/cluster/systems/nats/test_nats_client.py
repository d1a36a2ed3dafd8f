"""What a client asks of a server for each operation, and what it makes of the answers."""

import asyncio

import pytest
from nats_server import NOBODY, FakeNats, Status, held, info, refused, stored
from scripted import raised_and_given
from system_view import view_of

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S
from chaos.core.op import Invocation
from chaos.models.coordination import unique_ids
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.nats.client import NatsClient
from cluster.systems.nats.system import Nats

BUCKET = f"{view_of(Nats()).mark}-1"
"""That of key 3, of three buckets."""
STREAM, KEYS = f"KV_{BUCKET}", f"$KV.{BUCKET}"
GET, INFO = f"$JS.API.STREAM.MSG.GET.{STREAM}", f"$JS.API.STREAM.INFO.{STREAM}"
DIRECT = f"$JS.API.DIRECT.GET.{STREAM}.{KEYS}.registers.3"
KEY = f"{KEYS}.registers.3"


def op(f, argument=None, key=3):
    return Invocation(process=17, client=0, f=f, key=key, deadline_ns=0, argument=argument)


READ, WRITE = op(register.F.READ), op(register.F.WRITE, register.Write(value=4))
CAS = op(register.F.CAS, register.Cas(expected=2, value=5))
ADD, ELEMENTS = op(sets.F.ADD, sets.Add(element=7)), op(sets.F.READ)
PLUS, SUM = op(counter.F.ADD, counter.Add(amount=2)), op(counter.F.READ)
NOTHING = refused(10037, "no message found", 404)


class Fixed:
    """A route that is always the same."""

    async def ask(self, deadline_ns):
        return Route((Served("n2", ("n1", "n3")),))

    def close(self):
        pass


async def client_of(server, **settings):
    view = view_of(Nats(), **settings)
    client = NatsClient(view, -1, 8, seed=1)
    client._links = {node.name: server.link for node in view.nodes}
    client._route._source = Fixed()
    return client


def run(one, answers, **settings):
    """What an operation raised and was given, and the requests. ``answers``: by how a subject begins."""

    def answer(subject, *_):
        return next(said for begin, said in answers.items() if subject.startswith(begin))

    async def scenario():
        async with FakeNats(answer) as server:
            client = await client_of(server, **settings)
            out, received = await raised_and_given(client, one)
            await client.close()
            return out, received.result, server.asked

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("one", "answer", "request_", "result"),
    [
        (READ, held(9, b"4"), (GET, b'{"last_by_subj":"%s"}' % KEY.encode(), {}), Found(4)),
        (READ, NOTHING, (GET, b'{"last_by_subj":"%s"}' % KEY.encode(), {}), Found(None)),
        (WRITE, stored(9), (KEY, b"4", {}), None),
        (ADD, stored(9), (f"{KEYS}.sets.3.7", b"", {}), None),
        (op(unique_ids.F.GENERATE), stored(9), (f"{KEYS}.ids.3", b"", {}), unique_ids.Id(9)),
        (PLUS, stored(9), (f"{KEYS}.counters.3.17-1.2", b"", {}), None),
    ],
)
def test_an_operation_is_one_request(one, answer, request_, result):
    assert run(one, {"": answer}) == (None, result, [request_])


@pytest.mark.parametrize(
    ("one", "kind", "found", "result"),
    [
        (ELEMENTS, "sets", ("3", "12"), sets.Elements([3, 12])),
        (ELEMENTS, "sets", (), sets.Elements([])),
        (SUM, "counters", ("17-1.2", "4-9.3", "4-8.3"), Found(8)),
        (SUM, "counters", (), Found(None)),
    ],
)
def test_sets_and_counters_are_read_as_keys(one, kind, found, result):
    answer = info(9, *(f"{KEYS}.{kind}.3.{name}" for name in found))
    asked = (INFO, b'{"subjects_filter":"%s.%s.3.>"}' % (KEYS.encode(), kind.encode()), {})
    assert run(one, {INFO: answer}) == (None, result, [asked])


def test_amounts_of_one_client_are_different_keys():
    async def scenario():
        async with FakeNats(lambda *_: stored(1)) as server:
            client = await client_of(server)
            for _ in range(2):
                await raised_and_given(client, PLUS)
            await client.close()
            return [subject for subject, *_ in server.asked]

    assert asyncio.run(scenario()) == [f"{KEYS}.counters.3.17-1.2", f"{KEYS}.counters.3.17-2.2"]


def test_compare_and_set_names_the_revision_that_it_read():
    out, _, (read, write) = run(CAS, {GET: held(9, b"2"), KEY: stored(10)})
    assert (out, read[0]) == (None, GET)
    assert write == (KEY, b"5", {"Nats-Expected-Last-Subject-Sequence": "9"})


@pytest.mark.parametrize("answer", [held(9, b"3"), NOTHING])
def test_a_comparison_that_does_not_hold_writes_nothing(answer):
    out, _, asked = run(CAS, {GET: answer})
    assert (out, len(asked)) == ((Definite, "the comparison does not hold"), 1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refused(10071, "wrong last sequence: 12"), Definite),
        (refused(10071, "wrong last sequence: 8"), Indefinite),
        (refused(0, "raft: not leader", 503), Indefinite),
        (NOBODY, Definite),
        (StopIteration, Indefinite),
        ("no object", Indefinite),
        ({"stream": "KV_x"}, Indefinite),
    ],
)
def test_what_becomes_of_a_compare_and_set(answer, kind):
    out, _, asked = run(CAS, {GET: held(9, b"2"), KEY: answer})
    assert (out[0], len(asked)) == (kind, 2), "nothing is sent again"


@pytest.mark.parametrize(
    "answer", [NOBODY, refused(10008, "JetStream system temporarily unavailable", 503), {"message": {}}, held(9, b"x")]
)
@pytest.mark.parametrize("one", [READ, CAS], ids=lambda one: one.f.word)
def test_a_read_that_is_refused_has_failed(one, answer):
    out, result, asked = run(one, {GET: answer})
    assert (issubclass(out[0], Definite), result, len(asked)) == (True, None, 1)


def test_reads_may_be_asked_of_any_server():
    direct = Status("", ["Nats-Stream: x", "Nats-Sequence: 9"], b"4")
    assert run(READ, {DIRECT: direct}, client__directGet="true") == (None, Found(4), [(DIRECT, b"", {})])
    assert run(READ, {DIRECT: Status(" 404 Message Not Found")}, client__directGet="true")[1] == Found(None)
    out, *_ = run(CAS, {DIRECT: Status("", ["Nats-Sequence: 9"], b"2"), KEY: stored(10)}, client__directGet="true")
    assert out is None


@pytest.mark.parametrize("answer", [NOBODY, Status(" 408 Bad Request"), Status("", ["Nats-Sequence: x"], b"4")])
def test_a_direct_read_that_is_refused_has_failed(answer):
    assert run(READ, {DIRECT: answer}, client__directGet="true")[0][0] is Definite


@pytest.mark.parametrize(
    ("last", "out"),
    [
        (12, None),
        (13, None),
        (11, (Definite, "the answer is of message 11, and 12 was stored before")),
    ],
)
def test_a_confirmed_read_is_not_older_than_a_write_before_it(last, out):
    answers = {f"{KEYS}.seen.sets.3": stored(12), INFO: info(last, f"{KEYS}.sets.3.7")}
    said, result, asked = run(ELEMENTS, answers, client__confirmReads="true")
    assert (said, result) == (out, None if out else sets.Elements([7]))
    assert [subject for subject, *_ in asked] == [f"{KEYS}.seen.sets.3", INFO]


def test_a_key_that_nobody_wrote_so_is_malformed():
    assert run(ELEMENTS, {INFO: info(9, f"{KEYS}.sets.3.x")})[0][0] is Definite


@pytest.mark.parametrize("one", [READ, WRITE, CAS, ADD, SUM], ids=lambda one: type(one.f).__module__[-8:] + one.f.word)
def test_a_paused_server_gets_each_request_once(one):
    """It reads nothing until the operation is over; then it finds one request, and the next on another connection."""

    async def scenario():
        async with FakeNats(lambda *_: None) as server:
            server.paused = True
            client = await client_of(server)
            out = [(await raised_and_given(client, one, NS_PER_S // 2))[0] for _ in range(2)]
            await client.close()
            server.resumed.set()
            await server.heard_out()
            return out, len(server.asked), server.connections

    assert asyncio.run(scenario()) == ([(Indefinite, NO_ANSWER)] * 2, 2, 2)


def test_a_server_that_is_away_is_asked_nothing():
    async def scenario():
        async with FakeNats(lambda *_: None) as server:
            server.away()
            client = await client_of(server)
            return (await raised_and_given(client, WRITE))[0]

    assert asyncio.run(scenario()) == (Definite, "connect: refused")


def test_pings_are_answered_while_requests_go_out():
    async def scenario():
        async with FakeNats(lambda *_: stored(1), pings=True) as server:
            client = await client_of(server)
            for _ in range(3):
                assert (await raised_and_given(client, WRITE))[0] is None
            await client.close()
            return [word for word in server.said if word in ("PUB", "PONG")]

    assert asyncio.run(scenario()) == ["PUB", "PONG", "PUB", "PONG", "PUB"]
