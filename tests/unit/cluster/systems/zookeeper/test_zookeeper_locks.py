"""What a client asks of a server to take, use and give back a lock, and what it makes of the answers."""

import pytest
from test_zookeeper_client import MARK, NO_NODE, op, run, run_in_sessions
from zookeeper_server import done, given, names, not_done, packed, stat

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.lock import F, Granted, Lease, Token, Written
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.locks import HELD, NOT_OURS
from cluster.systems.zookeeper.semaphore_recipe import TOO_SHORT

PLACE, GUARDED = f"/{MARK}/locks/3", f"/{MARK}/guarded/3"
NODE, OTHER = "0000000007", "0000000006"
TOKEN = 77
TAKE, WRITE, GIVE = (
    op(F.ACQUIRE, Lease(lease_ms=1500)),
    op(F.GUARDED, Token(token=TOKEN)),
    op(F.UNLOCK, Token(token=TOKEN)),
)
MADE = packed(f"{PLACE}/{NODE}".encode()) + stat(made=TOKEN)
WRITTEN = done(jute.SET_DATA)[:-9] + stat(version=4) + done()
TAKEN = [("make", f"{PLACE}/", 3), ("children", PLACE)]


def by(**answers):
    """Answers by kind of request: a lock that nobody else wants, and 0 to those that are not named."""
    told = {"make": MADE, "children": names(NODE), "multi": WRITTEN} | answers
    return lambda kind, *_: told.get(kind, 0)


def test_a_lock_is_taken_in_a_session_as_long_as_its_lease():
    out, asked, sessions = run_in_sessions([TAKE], by(children=names("0000000008", NODE)))
    assert (out, asked) == ([("z1", Granted(TOKEN))], TAKEN)
    assert sessions[-1] == (1500, 0, bytes(16))


def test_who_is_not_the_lowest_ends_its_session():
    out, asked, _ = run([TAKE], by(children=names(NODE, OTHER)))
    assert (out, asked) == ([(Definite, HELD)], [*TAKEN, ("end",)])


@pytest.mark.parametrize("end", [None, StopIteration, -5], ids=["silent", "closed", "error"])
def test_it_does_not_hold_the_lock_however_its_session_ends(end):
    out, asked, _ = run([TAKE], by(children=names(NODE, OTHER), end=end), within_s=1.0)
    assert (out, asked) == ([(Definite, HELD)], [*TAKEN, ("end",)])


@pytest.mark.parametrize(
    ("answers", "out", "requests"),
    [
        ({"make": NO_NODE}, (Definite, "NoNode"), 1),
        ({"make": -5}, (Indefinite, "MarshallingError"), 1),
        ({"make": StopIteration}, (Indefinite, "closed"), 1),
        ({"make": None}, (Indefinite, "no answer before the deadline"), 1),
        ({"make": b"x"}, (Indefinite, "malformed answer: a buffer without a length"), 1),
        ({"children": NO_NODE}, (Indefinite, "not seen who holds it: NoNode"), 2),
        ({"children": StopIteration}, (Indefinite, "closed"), 2),
        ({"children": None}, (Indefinite, "no answer before the deadline"), 2),
        ({"children": b"x"}, (Indefinite, "malformed answer: children without a number"), 2),
        ({"children": names()}, (Indefinite, None), 2),
    ],
)
def test_once_its_node_may_be_there_nobody_knows(answers, out, requests):
    ((kind, said),), asked, _ = run([TAKE], by(**answers), within_s=2.0)
    assert (kind, out[1] or said) == (out[0], said)
    assert asked == TAKEN[:requests], "each request once"


def test_a_session_that_ends_before_the_lease_takes_nothing():
    out, asked, _ = run([TAKE], by(), session=given(timeout_ms=1499))
    assert (out, asked) == ([(Definite, f"{TOO_SHORT}: 1499 ms")], [])


@pytest.mark.parametrize("session", [False, None, given(timeout_ms=0)], ids=["closed", "silent", "none"])
def test_a_session_alone_takes_nothing(session):
    ((kind, said),), asked, sessions = run_in_sessions([TAKE], by(), session=session, within_s=1.0)
    assert (kind, asked, len(sessions)) == (Definite, [], 1)
    assert said.startswith("no session: ")


@pytest.mark.parametrize(
    ("fencing", "parts"),
    [
        ("true", [("check", f"{PLACE}/{NODE}", -1), ("set", GUARDED, str(TOKEN), -1)]),
        ("false", [("set", GUARDED, str(TOKEN), -1)]),
    ],
)
def test_a_guarded_write_demands_the_holders_node_with_fencing_only(fencing, parts):
    out, asked, _ = run([TAKE, WRITE], by(), client__fencing=fencing)
    assert (out[1], asked[2:]) == (("z1", Written(4)), [("multi", parts)])


@pytest.mark.parametrize(
    ("multi", "out"),
    [
        (not_done(NO_NODE, -2), (Definite, "NoNode")),
        (not_done(-5), (Indefinite, "MarshallingError")),
        (StopIteration, (Indefinite, "closed")),
        (None, (Indefinite, "no answer before the deadline")),
        (b"x", (Indefinite, "malformed answer: a multi without an end")),
        (done(jute.SET_DATA), (Indefinite, "malformed answer: a multi that wrote nothing")),
    ],
)
def test_what_a_server_says_to_a_guarded_write(multi, out):
    (_, said), asked, _ = run([TAKE, WRITE], by(multi=multi), within_s=2.0)
    assert (said, len(asked)) == (out, 3), "one request, whatever is answered"


@pytest.mark.parametrize(
    ("answer", "out"),
    [(0, ("z1", None)), (NO_NODE, (Definite, "NoNode")), (-5, (Indefinite, "MarshallingError"))],
)
def test_a_lock_is_given_back_by_removing_its_node(answer, out):
    (_, said), asked, _ = run([TAKE, GIVE], by(delete=answer))
    assert (said, asked[2:]) == (out, [("delete", f"{PLACE}/{NODE}", -1)])


@pytest.mark.parametrize("one", [WRITE, GIVE], ids=["write", "unlock"])
def test_without_a_grant_nothing_is_asked(one):
    assert run([one], by())[:2] == ([(Definite, NOT_OURS)], [])
