"""What a client asks for each operation, and what it makes of the answers."""

import asyncio

import msgspec
import pytest
from system_view import view_of
from zookeeper_server import FakeServer, names, node, packed, srvr

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.coordination import unique_ids
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.client import ZooKeeperClient, pinning_order
from cluster.systems.zookeeper.servers import Ensemble
from cluster.systems.zookeeper.system import ZooKeeper

MARK = view_of(ZooKeeper()).mark
KEY, SET, COUNTER = (f"/{MARK}/{kind}/3" for kind in ("registers", "sets", "counters"))
NO_NODE, BAD_VERSION, NODE_EXISTS, MARSHALLING = -101, -103, -110, -5
CLOSED = {"connection closed by the server", "connection reset"}


def op(f, argument=None, key=3, process=17):
    return Invocation(process=process, client=0, f=f, key=key, deadline_ns=0, argument=argument)


READ, WRITE = op(register.F.READ), op(register.F.WRITE, register.Write(value=4))
CAS = op(register.F.CAS, register.Cas(expected=2, value=4))
SET_ADD, SET_READ = op(sets.F.ADD, sets.Add(element=7)), op(sets.F.READ)
COUNT, COUNTED = op(counter.F.ADD, counter.Add(amount=-2)), op(counter.F.READ)


def run(ops, answer, number=-1, within_s=5.0, session=True, **settings):
    """What each operation was given or raised, the requests, and how many sessions were asked for."""
    out, asked, sessions = run_in_sessions(ops, answer, number, within_s, session, **settings)
    return out, asked, len(sessions)


def run_in_sessions(ops, answer, number=-1, within_s=5.0, session=True, **settings):
    """The same with the sessions that were asked for."""

    async def scenario():
        async with FakeServer(answer, {"srvr": srvr("leader")}, session) as server:
            client = ZooKeeperClient(view_of(ZooKeeper(), **settings), number, 8, seed=1)
            client._links = dict.fromkeys(client._links, server.link)
            client._route._source = Ensemble({"z1": server.link})
            out = []
            for one in ops:
                received = Received()
                try:
                    deadline_ns = now_ns() + int(within_s * NS_PER_S)
                    await client.invoke(msgspec.structs.replace(one, deadline_ns=deadline_ns), received)
                    out.append((received.node, received.result))
                except (Definite, Indefinite) as error:
                    out.append((type(error), "closed" if str(error) in CLOSED else str(error)))
            await client.close()
            await client.close()
            return out, server.asked, server.sessions

    return asyncio.run(scenario())


def by(**answers):
    """Answers by kind of request; 0, which is done, to those that are not named."""
    return lambda kind, *_: answers.get(kind, 0)


@pytest.mark.parametrize(
    ("one", "answers", "asked", "result"),
    [
        (WRITE, {}, ("set", KEY, "4", -1), None),
        (SET_ADD, {}, ("create", f"{SET}/7", ""), None),
        (COUNT, {}, ("create", f"{COUNTER}/17-1:-2", ""), None),
    ],
    ids=["write", "set", "counter"],
)
def test_a_change_is_one_request(one, answers, asked, result):
    assert run([one], by(**answers)) == ([("z1", result)], [asked], 1)


@pytest.mark.parametrize(
    ("one", "asked", "body", "result"),
    [
        (READ, ("get", KEY), node(b"4"), Found(4)),
        (READ, ("get", KEY), node(b""), Found(None)),
        (READ, ("get", KEY), NO_NODE, Found(None)),
        (SET_READ, ("children", SET), names("7", "-5"), sets.Elements([7, -5])),
        (SET_READ, ("children", SET), names(), sets.Elements([])),
        (SET_READ, ("children", SET), NO_NODE, sets.Elements([])),
        (COUNTED, ("children", COUNTER), names("17-1:-2", "17-2:5", "4-1:4"), Found(7)),
        (COUNTED, ("children", COUNTER), names(), Found(None)),
        (COUNTED, ("children", COUNTER), NO_NODE, Found(None)),
    ],
)
def test_a_read_is_preceded_by_a_sync(one, asked, body, result):
    path = asked[1]
    out, requests, begun = run([one], by(get=body, children=body))
    assert (out, requests, begun) == ([("z1", result)], [("sync", path), asked], 1)
    out, requests, _ = run([one], by(get=body, children=body), client__sync="false")
    assert (out, requests) == ([("z1", result)], [asked]), "but not if it is not to be"


@pytest.mark.parametrize(
    ("answer", "out", "asked"),
    [
        (0, ("z1", Found(4)), 2),
        (NO_NODE, ("z1", Found(4)), 2),
        (MARSHALLING, (Definite, "MarshallingError"), 1),
        (StopIteration, (Indefinite, "closed"), 1),
    ],
)
def test_a_read_may_be_preceded_by_a_write_that_a_majority_takes(answer, out, asked):
    said, requests, _ = run([READ], by(set=answer, get=node(b"4")), client__sync="write")
    assert (said, requests) == ([out], [("set", f"/{MARK}/barrier", "", -1), ("get", KEY)][:asked])


@pytest.mark.parametrize(
    ("one", "body"),
    [
        (READ, node(b"x")),
        (READ, node(b"4")[:-1]),
        (SET_READ, names("7", "x")),
        (SET_READ, names("7")[:-1]),
        (COUNTED, names("17-1")),
    ],
)
def test_an_answer_that_makes_no_sense_fails_a_read(one, body):
    ((kind, said),), _, _ = run([one], by(get=body, children=body))
    assert kind is Definite
    assert said.startswith("malformed answer: ")


def test_additions_of_a_process_have_names_of_their_own():
    other = op(counter.F.ADD, counter.Add(amount=5), key=2, process=4)
    _, asked, _ = run([COUNT, other, COUNT], by(create=MARSHALLING))
    assert [path.removeprefix(f"/{MARK}/counters/") for _, path, _ in asked] == ["3/17-1:-2", "2/4-1:5", "3/17-2:-2"]


@pytest.mark.parametrize(
    ("got", "answer", "out", "asked"),
    [
        (node(b"2", 6), 0, ("z1", None), True),
        (node(b"2", 6), BAD_VERSION, (Definite, "BadVersion"), True),
        (node(b"2", 6), MARSHALLING, (Indefinite, "MarshallingError"), True),
        (node(b"2", 6), StopIteration, (Indefinite, "closed"), True),
        (node(b"3", 6), 0, (Definite, "the comparison does not hold"), False),
        (node(b"", 0), 0, (Definite, "the comparison does not hold"), False),
        (NO_NODE, 0, (Definite, "the comparison does not hold"), False),
        (node(b"x", 0), 0, (Definite, "not compared: invalid literal for int() with base 10: b'x'"), False),
        (b"", 0, (Definite, "not compared: a buffer without a length"), False),
        (MARSHALLING, 0, (Definite, "MarshallingError"), False),
    ],
)
def test_compare_and_set_writes_the_version_that_was_compared(got, answer, out, asked):
    said, requests, _ = run([CAS], by(get=got, set=answer))
    assert said == [out]
    assert requests == [("get", KEY), *([("set", KEY, "4", 6)] if asked else [])]


def test_a_comparison_that_was_cut_off_has_written_nothing():
    ((kind, said),), requests, _ = run([CAS], by(get=StopIteration))
    assert kind is Definite
    assert said.removeprefix("not compared: ") in CLOSED
    assert requests == [("get", KEY)]


@pytest.mark.parametrize("one", [WRITE, SET_ADD, COUNT], ids=["write", "set", "counter"])
@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (NO_NODE, (Definite, "NoNode")),
        (NODE_EXISTS, (Definite, "NodeExists")),
        (-999, (Indefinite, "error -999")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_what_a_server_says_to_a_change(one, answer, out):
    said, asked, begun = run([one], lambda *_: answer)
    assert (said, len(asked), begun) == ([out], 1, 1), "nothing is sent again"


@pytest.mark.parametrize("one", [READ, WRITE, CAS, SET_ADD, SET_READ, COUNT, COUNTED], ids=lambda one: one.f.word)
def test_what_stays_unanswered_ends_at_its_deadline_after_one_attempt(one):
    ((kind, said),), asked, begun = run([one], lambda *_: None, within_s=0.3)
    assert (kind, said) == (
        (Definite, "not compared: no answer before the deadline")
        if one is CAS
        else (Indefinite, "no answer before the deadline")
    )
    assert (len(asked), begun) == (1, 1)


def test_a_sync_that_fails_leaves_the_read_unasked():
    said, asked, _ = run([READ], by(sync=-999))
    assert (said, asked) == ([(Definite, "error -999")], [("sync", KEY)])


def test_a_server_that_gives_no_session_has_refused():
    for _ in range(2):
        out, asked, _ = run([WRITE], by(), session=False)
        ((kind, said),) = out
        assert (kind, asked) == (Definite, [])
        assert said.startswith(ZooKeeper.refusals)


@pytest.mark.parametrize("session", [b"\0\0\0\x05hello", b"HTTP/1.1 400 Bad\r\n"])
def test_a_session_that_is_none_is_none(session):
    ((kind, said),), asked, _ = run([WRITE], by(), session=session)
    assert (kind, asked) == (Definite, [])
    assert said.startswith("no session: malformed answer: ")


def test_nothing_is_sent_while_a_session_is_on_its_way():
    out, asked, begun = run([WRITE, WRITE], by(), session=None, within_s=0.2)
    assert out == [(Definite, "connect: no answer before the deadline")] * 2
    assert (asked, begun) == ([], 1), "the second waits for the same session"


def test_after_a_lost_connection_the_next_operation_has_a_new_session():
    answers = iter([0, StopIteration, 0])
    said, asked, begun = run([WRITE] * 3, lambda *_: next(answers))
    assert said == [("z1", None), (Indefinite, "closed"), ("z1", None)]
    assert (len(asked), begun) == (3, 2)


def test_an_expired_session_is_told_from_a_lost_connection():
    answers = iter([-112, StopIteration])
    said, _, _ = run([WRITE] * 2, lambda *_: next(answers))
    assert said == [(Definite, "SessionExpired"), (Indefinite, "closed")]


def test_whoever_follows_asks_nothing_where_nobody_leads():
    async def scenario():
        async with FakeServer(words={"srvr": srvr("follower")}) as server:
            client = ZooKeeperClient(view_of(ZooKeeper()), -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, server.link)
            client._route._source = Ensemble({"z1": server.link})
            with pytest.raises(Definite, match="no leader in the route"):
                await client.invoke(msgspec.structs.replace(WRITE, deadline_ns=now_ns() + 5 * NS_PER_S), Received())
            await client.close()
            return server.asked

    assert asyncio.run(scenario()) == []


def test_a_client_goes_where_the_lead_went_between_two_operations():
    async def scenario():
        async with FakeServer() as first, FakeServer() as second:
            first.words, second.words = {"srvr": srvr("leader")}, {"srvr": srvr("follower")}
            client = ZooKeeperClient(view_of(ZooKeeper(), client__routePollInterval="0.01"), -1, 8, seed=1)
            client._links |= {"z1": first.link, "z2": second.link}
            client._route._source = Ensemble({"z1": first.link, "z2": second.link})
            nodes = []

            async def write():
                received = Received()
                await client.invoke(msgspec.structs.replace(WRITE, deadline_ns=now_ns() + 5 * NS_PER_S), received)
                nodes.append(received.node)

            await write()
            second.words = {"srvr": srvr("leader", "0x200000001")}
            while nodes[-1] != "z2":
                await write()
            first.words = {"srvr": srvr("follower", "0x200000001")}
            await write()
            await client.close()
            return nodes, len(first.asked), len(second.asked)

    nodes, first, second = asyncio.run(asyncio.wait_for(scenario(), 20))
    assert (nodes[0], nodes[-1]) == ("z1", "z2")
    assert (nodes.count("z1"), nodes.count("z2")) == (first, second)


def test_pinned_clients_stay_on_voters_and_observers_in_turn():
    view = view_of(ZooKeeper(), cluster__observers="2", cluster__voters="5")
    assert pinning_order(view) == ["z1", "o1", "z2", "o2", "z3", "z4", "z5"]
    assert [ZooKeeperClient(view, number, 8, seed=1).pinned_to for number in (4, 5, 6, 7)] == [None, "z1", "o1", "z2"]
    out, _, _ = run([WRITE] * 2, by(), number=6)
    assert [node for node, _ in out] == ["z2", "z2"]


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (packed(f"/{MARK}/ids/3/0000000012".encode()), ("z1", unique_ids.Id(12))),
        (
            packed(f"/{MARK}/ids/3/x".encode()),
            (Indefinite, "malformed answer: invalid literal for int() with base 10: 'x'"),
        ),
        (b"", (Indefinite, "malformed answer: a buffer without a length")),
        (-101, (Definite, "NoNode")),
        (MARSHALLING, (Indefinite, "MarshallingError")),
        (StopIteration, (Indefinite, "closed")),
    ],
    ids=["ok", "no number", "nothing", "no node", "in doubt", "closed"],
)
def test_an_id_is_the_number_of_a_new_sequential_node(answer, out):
    said, asked, _ = run([op(unique_ids.F.GENERATE)], by(create=answer))
    assert said == [out]
    assert asked == [("create", f"/{MARK}/ids/3/", "")], "one request, whatever is answered"


def test_the_server_is_asked_to_number_the_node():
    body = jute.create("/a/", mode=jute.SEQUENTIAL).body
    assert (body[-4:], jute.create("/a/").body[-4:]) == (b"\0\0\0\2", bytes(4))
