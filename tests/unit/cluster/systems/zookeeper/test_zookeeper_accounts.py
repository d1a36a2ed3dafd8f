"""Banks of ZooKeeper: what is read, and the multi that holds only if nothing of it has changed."""

import pytest
from test_zookeeper_client import MARK, op, run
from test_zookeeper_transactions import BAD_VERSION, BESIDE, parts, server
from zookeeper_server import not_done

from chaos.core.client import Definite, Indefinite
from chaos.models.transactions.bank import Balances, F, Transfer

BANK = f"/{MARK}/accounts/3"
MOVE, READ = op(F.TRANSFER, Transfer(source=1, target=2, amount=5)), op(F.READ)


def test_both_accounts_of_a_transfer_are_checked_and_written_at_once():
    told, asked, _ = run([MOVE], server(n1=("7", 5), n2=("20", 2)))
    assert told == [("z1", None)]
    assert [request[0] for request in asked] == ["sync", "get", "get", "multi"]
    assert parts(asked) == [("set", f"{BANK}/1", "2", 5), ("set", f"{BANK}/2", "25", 2)]


def test_an_account_that_nobody_touched_is_made():
    told, asked, _ = run([MOVE], server())
    assert told == [("z1", None)]
    assert parts(asked) == [("create", f"{BANK}/1", "15"), ("create", f"{BANK}/2", "25")]


def test_an_account_that_holds_too_little_is_not_touched():
    told, asked, _ = run([MOVE], server(n1=("4", 5)))
    assert told == [(Definite, "the account holds too little")]
    assert asked[-1][0] == "get"


@pytest.mark.parametrize("sync", ["true", "write", "false"])
def test_a_read_is_of_one_moment_unless_an_old_one_will_do(sync):
    told, asked, _ = run([READ], server(n1=("7", 5), n7=("0", 1)), client__sync=sync)
    assert told == [("z1", Balances([20, 7, 20, 20, 20, 20, 20, 0]))]
    if sync == "false":
        assert {request[0] for request in asked} == {"get"}
        return
    assert ("check", f"{BANK}/1", 5) in parts(asked)
    assert ("check", f"{BANK}/7", 1) in parts(asked)
    assert [one[0] for one in parts(asked)].count("create") == [one[0] for one in parts(asked)].count("delete") == 6


@pytest.mark.parametrize(
    ("one", "answer", "kind", "last"),
    [
        (MOVE, server(not_done(0, BAD_VERSION, BESIDE)), Definite, "multi"),
        (MOVE, server(not_done(-110)), Definite, "multi"),
        (MOVE, server(-1), Indefinite, "multi"),
        (MOVE, server(StopIteration), Indefinite, "multi"),
        (MOVE, server(n1=("x", 0)), Definite, "get"),
        (MOVE, lambda *_: -112, Definite, "sync"),
        (READ, server(not_done(BAD_VERSION)), Definite, "multi"),
    ],
)
def test_until_the_multi_leaves_nothing_was_changed(one, answer, kind, last):
    (told,), asked, _ = run([one], answer)
    assert told[0] is kind
    assert asked[-1][0] == last
