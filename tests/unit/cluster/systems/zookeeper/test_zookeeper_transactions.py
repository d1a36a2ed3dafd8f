"""Transactions as reads and one multi: what is asked of a server, and what is made of its answers."""

import pytest
from test_zookeeper_client import CLOSED, MARK, NO_NODE, op, run
from zookeeper_server import done, node, not_done

from chaos.core.client import Definite, Indefinite
from chaos.models.transactions.words import Do, F, Micro, Reads, Transaction
from cluster.systems._shared.link import Malformed
from cluster.systems.zookeeper import jute

LISTS, CELLS = f"/{MARK}/lists/3", f"/{MARK}/cells/3"
APPEND, READ, ABSENT = Micro(Do.APPEND, 1, 7), Micro(Do.READ, 2), Micro(Do.READ, 9)
BAD_VERSION, BESIDE = -103, -2


def txn(f, *micros):
    return op(f, Transaction(micros))


def server(multi=None, **held):
    """A server that holds nodes by their number: (data, version); absent ones are not there."""
    multi = done(jute.SET_DATA) if multi is None else multi

    def answer(kind, path, *_):
        if kind == "multi":
            return multi
        if kind == "get":
            found = held.get(f"n{path.rpartition('/')[2]}")
            return NO_NODE if found is None else node(found[0].encode(), found[1])
        return 0

    return answer


def parts(asked):
    (found,) = (request[1] for request in asked if request[0] == "multi")
    return found


def test_all_that_was_read_is_checked_and_what_is_written_is_written_at_once():
    held = {"n1": ("3 4", 5), "n2": ("8", 2)}
    told, asked, _ = run([txn(F.LIST_TXN, READ, APPEND, Micro(Do.READ, 1), ABSENT)], server(**held))
    assert told == [("z1", Reads([[8], None, [3, 4, 7], []]))]
    assert asked[0] == ("sync", f"{LISTS}/2")
    assert set(asked[1:-1]) == {("get", f"{LISTS}/{key}") for key in (2, 1, 9)}
    assert asked[-1][0] == "multi"
    assert parts(asked) == [
        ("check", f"{LISTS}/2", 2),
        ("set", f"{LISTS}/1", "3 4 7", 5),
        ("create", f"{LISTS}/9", ""),
        ("delete", f"{LISTS}/9", -1),
    ]


def test_a_list_that_is_not_there_is_made():
    told, asked, _ = run([txn(F.LIST_TXN, APPEND)], server())
    assert told == [("z1", Reads([None]))]
    assert parts(asked) == [("create", f"{LISTS}/1", "7")]


def test_a_register_that_is_only_written_is_not_compared():
    held = {"n1": ("3", 5), "n2": ("8", 2)}
    micros = (Micro(Do.WRITE, 1, 7), READ, Micro(Do.WRITE, 2, 4), Micro(Do.READ, 2))
    told, asked, _ = run([txn(F.REGISTER_TXN, *micros)], server(**held))
    assert told == [("z1", Reads([None, [8], None, [4]]))]
    assert parts(asked) == [("set", f"{CELLS}/1", "7", -1), ("set", f"{CELLS}/2", "4", 2)]


@pytest.mark.parametrize(
    ("sync", "kinds"), [("true", ["sync", "get", "multi"]), ("write", ["get", "multi"]), ("false", ["get"])]
)
def test_reads_are_checked_unless_old_ones_will_do(sync, kinds):
    told, asked, _ = run([txn(F.LIST_READ, READ)], server(n2=("8", 2)), client__sync=sync)
    assert told == [("z1", Reads([[8]]))]
    assert [request[0] for request in asked] == kinds


@pytest.mark.parametrize(
    ("one", "answer", "outcome", "last"),
    [
        (txn(F.LIST_TXN, APPEND), server(not_done(0, BAD_VERSION, BESIDE)), (Definite, "BadVersion"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(not_done(-110)), (Definite, "NodeExists"), "multi"),
        (txn(F.LIST_READ, READ), server(not_done(BAD_VERSION)), (Definite, "BadVersion"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(not_done(BESIDE, BESIDE)), (Indefinite, "error -2"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(not_done(-5)), (Indefinite, "MarshallingError"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(-112), (Definite, "SessionExpired"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(-1), (Indefinite, "SystemError"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(b"x"), (Indefinite, "malformed answer: a multi without an end"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(StopIteration), (Indefinite, "closed"), "multi"),
        (txn(F.LIST_TXN, APPEND), server(n1=("x", 0)), (Definite, None), "get"),
        (txn(F.LIST_TXN, APPEND), lambda *_: -112, (Definite, None), "sync"),
        (txn(F.LIST_TXN, APPEND), lambda kind, *_: b"" if kind == "get" else 0, (Definite, None), "get"),
        (txn(F.LIST_TXN, APPEND), lambda kind, *_: StopIteration if kind == "get" else 0, (Definite, None), "get"),
    ],
)
def test_until_the_multi_leaves_nothing_was_changed(one, answer, outcome, last):
    (told,), asked, _ = run([one], answer)
    assert told[0] is outcome[0]
    assert outcome[1] is None or told[1] == outcome[1] or told[1] in CLOSED
    assert asked[-1][0] == last
    assert len([request for request in asked if request[0] == "multi"]) == (last == "multi")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (done(), 0),
        (done(jute.CHECK, jute.SET_DATA), 0),
        (not_done(0, 0, BAD_VERSION, BESIDE), BAD_VERSION),
        (not_done(BESIDE), BESIDE),
    ],
)
def test_the_error_of_a_multi_is_the_first_that_is_one(body, error):
    assert jute.error_of_multi(body) == error


@pytest.mark.parametrize("body", [b"", not_done(0, BAD_VERSION)[:-9], not_done(0)[:-9] + done(jute.CHECK)])
def test_a_multi_that_makes_no_sense(body):
    with pytest.raises(Malformed):
        jute.error_of_multi(body)
