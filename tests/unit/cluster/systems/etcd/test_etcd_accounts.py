"""Banks of etcd: two requests of a transfer, one of a read, and what is made of the answers."""

import pytest
from test_etcd_client import LATE, MARK, TXN, coded, run
from test_etcd_transactions import Store

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.transactions.bank import Balances, F, Transfer


def op(f, argument=None):
    return Invocation(process=3, client=0, f=f, key=0, deadline_ns=0, argument=argument)


def key(account):
    return coded(f"{MARK}/accounts/0/{account}")


MOVE, READ = op(F.TRANSFER, Transfer(source=1, target=2, amount=5)), op(F.READ)


def test_money_is_moved_if_nobody_touched_either_account_since():
    (told,), asked = run([MOVE], {TXN: Store(accounts_1="7")})
    assert told == ("n1", None)
    (_, first), (_, second) = asked
    assert [one["request_range"]["key"] for one in first["success"]] == [key(1), key(2)]
    assert second["compare"] == [
        {"key": key(account), "target": "MOD", "result": "EQUAL", "mod_revision": revision}
        for account, revision in ((1, 5), (2, 0))
    ]
    assert second["success"] == [
        {"request_put": {"key": key(account), "value": coded(value)}} for account, value in ((1, "2"), (2, "25"))
    ]


@pytest.mark.parametrize("account", [1, 2])
def test_an_account_that_somebody_touched_meanwhile_is_left_as_it_is(account):
    store = Store(accounts_1="7")
    store.between = key(account)
    assert run([MOVE], {TXN: store})[0] == [(Definite, "the comparison does not hold")]
    assert not any(text in ("2", "25") for text, _ in store.held.values())


def test_an_account_that_holds_too_little_is_not_touched():
    (told,), asked = run([MOVE], {TXN: Store(accounts_1="4")})
    assert told == (Definite, "the account holds too little")
    assert len(asked) == 1


@pytest.mark.parametrize("serializable", ["false", "true"])
def test_all_accounts_are_read_at_one_revision(serializable):
    store = Store(accounts_1="7", accounts_7="0")
    (told,), asked = run([READ], {TXN: store}, client__serializable=serializable)
    assert told == ("n1", Balances([20, 7, 20, 20, 20, 20, 20, 0]))
    ((_, body),) = asked
    assert [one["request_range"]["key"] for one in body["success"]] == list(map(key, range(8)))
    assert {one["request_range"]["serializable"] for one in body["success"]} == {serializable == "true"}


@pytest.mark.parametrize(
    ("one", "answer", "kind", "requests"),
    [
        (MOVE, LATE, Definite, 1),
        (MOVE, lambda body: LATE if "compare" in body else Store()(body), Indefinite, 2),
        (MOVE, {"header": {}, "succeeded": True, "responses": []}, Definite, 1),
        (READ, LATE, Definite, 1),
        (READ, {"header": {}, "succeeded": True, "responses": [{}] * 8}, Definite, 1),
    ],
)
def test_until_the_write_leaves_nothing_was_changed(one, answer, kind, requests):
    (told,), asked = run([one], {TXN: answer})
    assert told[0] is kind
    assert len(asked) == requests
