"""What a client asks of a server to take, renew, end and look for leases, and what it makes of the answers."""

import asyncio

import msgspec
import pytest
from system_view import view_of
from test_zookeeper_client import MARK, NO_NODE, op, run, run_in_sessions
from zookeeper_server import FakeServer, given, names, srvr

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.models.coordination.lease import Alive, F, Living, Term, Which
from cluster.systems.zookeeper.client import ZooKeeperClient
from cluster.systems.zookeeper.leases import NO_CONNECTION, NOT_OURS
from cluster.systems.zookeeper.servers import Ensemble
from cluster.systems.zookeeper.system import ZooKeeper

PLACE = f"/{MARK}/leases/3"
GRANT, RENEW, REVOKE, LOOK = (
    op(F.GRANT, Term(lease=9, ttl_ms=4000)),
    *(op(f, Which(lease=9)) for f in (F.RENEW, F.REVOKE)),
    op(F.READ),
)
CREATED = ("create", f"{PLACE}/9", "")
PASSWORD = bytes(range(16))
OURS = given(4500, 23, PASSWORD)
OVER = given(0, 0)


def by(**answers):
    """Answers by kind of request; 0, which is done, to those that are not named."""
    return lambda kind, *_: answers.get(kind, 0)


def test_a_lease_is_a_session_with_a_node():
    out, asked, sessions = run_in_sessions([GRANT], by(), session=OURS)
    assert (out, asked) == ([("z1", Alive(4500))], [CREATED]), "as long as the server says"
    assert sessions == [(4000, 0, bytes(16))]


@pytest.mark.parametrize(
    ("create", "out"),
    [
        (-110, (Definite, "NodeExists")),
        (-112, (Definite, "SessionExpired")),
        (-5, (Indefinite, "MarshallingError")),
        (StopIteration, (Indefinite, "closed")),
        (None, (Indefinite, "no answer before the deadline")),
    ],
)
def test_only_the_node_of_a_lease_can_be_in_doubt(create, out):
    said, asked, sessions = run_in_sessions([GRANT, RENEW], by(create=create), within_s=2.0)
    assert (said, asked, len(sessions)) == ([out, (Definite, NOT_OURS)], [CREATED], 1)


@pytest.mark.parametrize("session", [False, None, OVER], ids=["closed", "silent", "none"])
def test_without_a_session_there_is_no_lease(session):
    ((kind, said),), asked, sessions = run_in_sessions([GRANT], by(), session=session, within_s=1.0)
    assert (kind, asked, len(sessions)) == (Definite, [], 1)
    assert said.startswith("no session: ")


def test_a_renewal_is_one_ping():
    out, asked, sessions = run_in_sessions([GRANT, RENEW, RENEW], by(), session=OURS)
    assert (out[1:], asked, len(sessions)) == ([("z1", Alive(4500))] * 2, [CREATED, ("ping",), ("ping",)], 1)


def test_or_one_connection_that_goes_on_with_the_session():
    out, asked, sessions = run_in_sessions([GRANT, RENEW, RENEW], by(), session=OURS, client__renew="attach")
    assert (out[1:], asked) == ([("z1", Alive(4500))] * 2, [CREATED])
    assert sessions == [(4000, 0, bytes(16)), *[(4500, 23, PASSWORD)] * 2]


@pytest.mark.parametrize(
    ("answer", "out"),
    [(StopIteration, (Indefinite, "closed")), (None, (Indefinite, "no answer before the deadline"))],
    ids=["closed", "silent"],
)
def test_a_ping_that_is_not_answered_is_not_repeated_and_the_next_renewal_moves_the_session(answer, out):
    said, asked, sessions = run_in_sessions([GRANT, RENEW, RENEW], by(ping=answer), session=OURS, within_s=2.0)
    assert said[1:] == [out, ("z1", Alive(4500))]
    assert (asked, sessions[1:]) == ([CREATED, ("ping",)], [(4500, 23, PASSWORD)])


@pytest.mark.parametrize(
    ("again", "out"),
    [
        (OVER, (Definite, "no session: SessionExpired")),
        (False, (Indefinite, "closed")),
        (None, (Indefinite, "no answer before the deadline")),
        (OURS[:-4], (Indefinite, "no answer before the deadline")),
        (b"\0\0\0\x10" + bytes(7) + b"\1" + bytes(8), (Indefinite, "malformed answer: a buffer without a length")),
        (b"\0\0\0\5hello", (Indefinite, "malformed answer: no answer to the request for a session")),
    ],
    ids=["over", "closed", "silent", "half", "cut off", "short"],
)
def test_what_a_server_says_to_a_session_that_comes_again(again, out):
    said, _, sessions = run_in_sessions(
        [GRANT, RENEW],
        by(),
        session=lambda number: OURS if number == 1 else again,
        within_s=2.0,
        client__renew="attach",
    )
    assert (said[1], len(sessions)) == (out, 2), "one attempt"


@pytest.mark.parametrize(
    ("end", "out"),
    [
        (0, ("z1", None)),
        (-112, (Definite, "SessionExpired")),
        (-5, (Indefinite, "MarshallingError")),
        (StopIteration, (Indefinite, "closed")),
        (None, (Indefinite, "no answer before the deadline")),
    ],
)
def test_a_lease_ends_with_its_session(end, out):
    said, asked, sessions = run_in_sessions([GRANT, REVOKE], by(end=end), within_s=2.0)
    assert (said[1], asked, len(sessions)) == (out, [CREATED, ("end",)], 1)


def test_a_session_without_a_connection_is_not_ended():
    said, asked, _ = run([GRANT, RENEW, REVOKE], by(ping=StopIteration))
    assert (said[2], asked) == ((Definite, NO_CONNECTION), [CREATED, ("ping",)])


@pytest.mark.parametrize("f", [F.RENEW, F.REVOKE])
def test_the_lease_of_somebody_else_is_not_touched(f):
    said, asked, _ = run([GRANT, op(f, Which(lease=10))], by())
    assert (said[1], asked) == ((Definite, NOT_OURS), [CREATED])


def test_a_session_moves_where_its_client_goes():
    async def scenario():
        async with FakeServer(session=OURS) as first, FakeServer(session=OURS) as second:
            first.words, second.words = {"srvr": srvr("leader")}, {"srvr": srvr("follower")}
            client = ZooKeeperClient(view_of(ZooKeeper(), client__routePollInterval="0.01"), -1, 8, seed=1)
            client._links |= {"z1": first.link, "z2": second.link}
            client._route._source = Ensemble({"z1": first.link, "z2": second.link})

            async def invoke(one):
                received = Received()
                await client.invoke(msgspec.structs.replace(one, deadline_ns=now_ns() + 5 * NS_PER_S), received)
                return received.node

            await invoke(GRANT)
            second.words = {"srvr": srvr("leader", "0x200000001")}
            while await invoke(RENEW) != "z2":
                pass
            moved = second.sessions[:]
            await invoke(RENEW)
            await client.refresh()
            await invoke(RENEW)
            await client.close()
            connections = [held.connection.broken for held in client._leases._held.values()]
            return moved, second.asked, second.sessions[1:].count((4500, 23, PASSWORD)), connections

    moved, asked, again, closed = asyncio.run(asyncio.wait_for(scenario(), 20))
    assert (moved, asked) == ([(4500, 23, PASSWORD)], [("ping",)]), "it is moved once, and pinged there"
    assert again == 1, "without its connection it is gone on with"
    assert closed == ["connection closed by the client"], "nothing is left open"


@pytest.mark.parametrize("sync", ["true", "write", "false"])
@pytest.mark.parametrize(
    ("children", "out"),
    [
        (names(), ("z1", Living())),
        (names("9", "12"), ("z1", Living([9, 12]))),
        (NO_NODE, ("z1", Living())),
        (-5, (Definite, "MarshallingError")),
        (names("x"), (Definite, "malformed answer: invalid literal for int() with base 10: 'x'")),
    ],
)
def test_whoever_looks_has_a_majority_take_a_write_first(sync, children, out):
    (said,), asked, _ = run([LOOK], by(children=children), client__sync=sync)
    assert (said, asked) == (out, [("set", f"/{MARK}/barrier", "", -1), ("children", PLACE)])


@pytest.mark.parametrize("answer", [-5, StopIteration], ids=["error", "closed"])
def test_without_that_write_nobody_looks(answer):
    ((kind, _),), asked, _ = run([LOOK], by(set=answer))
    assert (kind in (Definite, Indefinite), len(asked)) == (True, 1)
