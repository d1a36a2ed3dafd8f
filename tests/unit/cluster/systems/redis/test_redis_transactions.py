"""Transactions as MULTI … EXEC: what is sent, and what is made of the answers."""

import pytest
from test_redis_client import MARK, READONLY, op, run

from chaos.core.client import Definite, Indefinite
from chaos.models.transactions.words import Do, F, Micro, Reads, Transaction

LISTS, CELLS = f"{MARK}/lists/3", f"{MARK}/cells/3"
APPEND, READ, WRITE = Micro(Do.APPEND, 1, 7), Micro(Do.READ, 2), Micro(Do.WRITE, 1, 7)
ABORTED = ValueError("EXECABORT Transaction discarded because of previous errors.")


def txn(f, *micros):
    return op(f, Transaction(micros))


def answers(executed, **others):
    """EXEC is answered so; WAIT by how many replicas have confirmed."""
    return lambda command: {"EXEC": executed, **others}.get(command[0], "QUEUED")


def test_all_micro_operations_go_out_in_one_transaction():
    out, result, asked = run(txn(F.LIST_TXN, APPEND, READ, READ), answers([1, ["4", "5"], []]))
    assert (out, result) == (None, Reads([None, [4, 5], []]))
    list_read = ("LRANGE", f"{LISTS}/2", "0", "-1")
    assert asked == [[("MULTI",), ("RPUSH", f"{LISTS}/1", "7"), list_read, list_read, ("EXEC",)]]


def test_registers_are_keys():
    out, result, asked = run(txn(F.REGISTER_TXN, READ, WRITE, READ), answers([None, "OK", "4"]))
    assert (out, result) == (None, Reads([[], None, [4]]))
    read = ("GET", f"{CELLS}/2")
    assert asked == [[("MULTI",), read, ("SET", f"{CELLS}/1", "7"), read, ("EXEC",)]]


@pytest.mark.parametrize(
    ("settings", "beside"),
    [
        ({}, [("GETEX", f"{LISTS}/confirmed")]),
        ({"client__replicaReads": "on"}, []),
    ],
)
def test_what_only_reads_is_answered_by_a_master_alone(settings, beside):
    out, result, asked = run(txn(F.LIST_READ, READ), answers([["4"], None]), **settings)
    assert (out, result) == (None, Reads([[4]]))
    assert asked == [[("MULTI",), ("LRANGE", f"{LISTS}/2", "0", "-1"), *beside, ("EXEC",)]]


def test_a_space_of_a_cluster_is_in_one_slot():
    _, _, asked = run(txn(F.LIST_TXN, APPEND, READ), answers([1, []]), cluster__mode="cluster")
    keys = [command[1] for command in asked[0] if len(command) > 1]
    assert len(keys) == 2
    assert len({name.partition("/")[0] for name in keys}) == 1
    assert all(name.startswith("{") for name in keys)


@pytest.mark.parametrize(
    ("one", "executed", "confirmed", "outcome"),
    [
        (txn(F.LIST_TXN, APPEND), [1], 2, None),
        (txn(F.LIST_TXN, APPEND), [1], 1, Indefinite),
        (txn(F.LIST_READ, READ), [[], 1], 2, None),
        (txn(F.LIST_READ, READ), [[], 1], 1, Definite),
    ],
)
def test_replicas_must_confirm_it(one, executed, confirmed, outcome):
    out, result, asked = run(one, answers(executed, WAIT=confirmed), client__wait="2")
    assert (out and out[0]) is outcome
    assert result is not None, "what was read is kept however it ended"
    assert [command[0] for command in asked[0]][-2:] == ["EXEC", "WAIT"]
    assert ("INCR" in {command[0] for command in asked[0]}) == (one.f is F.LIST_READ)


@pytest.mark.parametrize(
    ("one", "answer", "outcome"),
    [
        (txn(F.LIST_TXN, APPEND), answers(ABORTED, RPUSH=READONLY), Definite),
        (txn(F.LIST_READ, READ), answers(ABORTED, GETEX=READONLY), Definite),
        (txn(F.LIST_TXN, APPEND), answers(ABORTED), Definite),
        (txn(F.LIST_TXN, APPEND), answers(ValueError("ERR internal")), Indefinite),
        (txn(F.LIST_TXN, APPEND), answers([ValueError("OOM command not allowed")]), Indefinite),
        (txn(F.LIST_TXN, APPEND), answers(None), Indefinite),
        (txn(F.LIST_TXN, APPEND), answers([]), Indefinite),
        (txn(F.LIST_TXN, APPEND, READ), answers([1, "x"]), Indefinite),
        (txn(F.LIST_TXN, APPEND, READ), answers([1, ["x"]]), Indefinite),
        (txn(F.LIST_READ, READ), answers([["x"], None]), Definite),
        (txn(F.REGISTER_TXN, WRITE), lambda command: StopIteration, Indefinite),
        (txn(F.REGISTER_READ, READ), lambda command: StopIteration, Indefinite),
    ],
)
def test_only_what_was_not_executed_has_failed(one, answer, outcome):
    out, _, asked = run(one, answer)
    assert out[0] is outcome
    assert len(asked) == 1, "one attempt"
