"""What a client asks of a server to take a permit and to give it back, and what it makes of the answers."""

import pytest
from test_zookeeper_client import MARK, NO_NODE, op, run, run_in_sessions
from test_zookeeper_locks import MADE, NODE, TOKEN
from zookeeper_server import given, names, packed, stat

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.semaphore import F, Permit, Wanted
from cluster.systems.zookeeper.semaphore_recipe import TOO_SHORT
from cluster.systems.zookeeper.semaphores import NONE_FREE, NOT_OURS

PLACE = f"/{MARK}/permits/3"
PATH = f"{PLACE}/{NODE}"
TAKE, GIVE = op(F.ACQUIRE, Wanted(lease_ms=1500, permits=2)), op(F.GIVE_BACK, Permit(TOKEN))
ASKED = [("make", f"{PLACE}/", 3), ("children", PLACE)]
COUNTING = {"client__countFirst": "true"}


def by(**answers):
    """Answers by kind of request: a semaphore that nobody else uses, and 0 to those that are not named."""
    made = packed(PATH.encode()) + stat(made=TOKEN)
    told = {"make": made, "children": names(NODE)} | answers
    return lambda kind, *_: told.get(kind, 0)


@pytest.mark.parametrize("others", [(), ("0000000003",), ("0000000003", "0000000008", "0000000009")])
def test_who_is_among_the_lowest_has_a_permit_for_as_long_as_its_session(others):
    out, asked, sessions = run_in_sessions([TAKE], by(children=names(*others, NODE)))
    assert (out, asked) == ([("z1", Permit(TOKEN))], ASKED)
    assert sessions[-1] == (1500, 0, bytes(16))


def test_who_is_not_ends_its_session():
    out, asked, _ = run([TAKE], by(children=names(NODE, "0000000003", "0000000004")))
    assert (out, asked) == ([(Definite, NONE_FREE)], [*ASKED, ("end",)])


@pytest.mark.parametrize(
    "children", [NO_NODE, StopIteration, b"x", names()], ids=["none", "closed", "malformed", "empty"]
)
def test_once_its_node_may_be_there_nobody_knows(children):
    ((kind, _),), asked, _ = run([TAKE], by(children=children))
    assert (kind, asked) == (Indefinite, ASKED)


def test_a_session_that_ends_before_the_lease_takes_nothing():
    out, asked, _ = run([TAKE], by(), session=given(timeout_ms=1499))
    assert (out, asked) == ([(Definite, f"{TOO_SHORT}: 1499 ms")], [])


def test_a_client_may_count_first():
    out, asked, _ = run([TAKE], by(children=names("0000000003")), **COUNTING)
    assert (out, asked) == ([("z1", Permit(TOKEN))], list(reversed(ASKED)))


@pytest.mark.parametrize(
    ("children", "said"),
    [(names("a", "b"), NONE_FREE), (NO_NODE, "NoNode"), (StopIteration, "not counted: "), (b"x", "not counted: ")],
)
def test_who_counts_too_many_makes_no_node(children, said):
    ((kind, why),), asked, _ = run([TAKE], by(children=children), **COUNTING)
    assert (kind, why.startswith(said), asked) == (Definite, True, ASKED[1:])


@pytest.mark.parametrize(
    ("answer", "out"),
    [(0, ("z1", None)), (NO_NODE, (Definite, "NoNode")), (-5, (Indefinite, "MarshallingError"))],
)
def test_a_permit_is_given_back_by_removing_its_node(answer, out):
    (_, said), asked, _ = run([TAKE, GIVE], by(delete=answer))
    assert (said, asked[2:]) == (out, [("delete", PATH, -1)])


def test_a_permit_that_was_not_given_to_the_client_is_not_asked_for():
    assert run([GIVE], by())[:2] == ([(Definite, NOT_OURS)], [])


def test_the_nodes_of_locks_and_semaphores_are_apart():
    assert PATH.encode() not in MADE
