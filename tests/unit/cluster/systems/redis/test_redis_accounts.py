"""Banks of Redis: one script moves money, and all accounts are read at once."""

import pytest
from test_redis_client import MARK, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.transactions.bank import ACCOUNTS, Balances, F, Transfer
from cluster.systems.redis.accounts import TRANSFER

BANK = f"{MARK}/accounts/3"
MOVE, READ = op(F.TRANSFER, Transfer(source=1, target=2, amount=5)), op(F.READ)
KEYS = tuple(f"{BANK}/{account}" for account in range(ACCOUNTS))
HELD = [None, "7", *[None] * 5, "0"]


def by(**answers):
    return lambda command: answers.get(command[0], "QUEUED")


def test_a_transfer_is_one_script():
    out, _, asked = run(MOVE, by(EVAL=1))
    assert (out, asked) == (None, [[("EVAL", TRANSFER, "2", KEYS[1], KEYS[2], "5")]])


def test_an_account_that_holds_too_little_is_not_touched():
    assert run(MOVE, by(EVAL=0))[0] == (Definite, "the account holds too little")


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, [("MULTI",), ("MGET", *KEYS), ("GETEX", f"{BANK}/confirmed"), ("EXEC",)]),
        ({"client__replicaReads": "on"}, [("MGET", *KEYS)]),
    ],
)
def test_all_accounts_are_read_at_once_of_a_master_unless_a_replica_will_do(settings, asked):
    out, result, requests = run(READ, by(EXEC=[HELD, None], MGET=HELD if settings else "QUEUED"), **settings)
    assert (out, result, requests) == (None, Balances([20, 7, 20, 20, 20, 20, 20, 0]), [asked])


@pytest.mark.parametrize("executed", [["7", None], [HELD[:7], None], [["x"] * 8, None]])
def test_an_answer_that_makes_no_sense_is_none(executed):
    assert run(READ, by(EXEC=executed))[0][0] is Definite


def test_a_transfer_that_too_few_replicas_have_confirmed_is_in_doubt():
    assert run(MOVE, by(EVAL=1, WAIT=0), client__wait="2")[0][0] is Indefinite


def test_the_accounts_of_a_bank_are_in_one_slot_of_a_cluster():
    _, _, asked = run(MOVE, by(EVAL=1), cluster__mode="cluster")
    ((_, _, _, source, target, _),) = asked[0]
    assert source.startswith("{")
    assert source.partition("/")[0] == target.partition("/")[0]
