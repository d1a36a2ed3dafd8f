"""What a client asks of a member to take, use and give back a lock, and what it makes of the answers."""

import pytest
from etcd_operations import coded, run
from system_view import view_of

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.lock import F, Granted, Lease, Token, Written
from cluster.systems.etcd.system import Etcd

MARK = view_of(Etcd()).mark
GRANT, TXN = "v3/lease/grant", "v3/kv/txn"
LEASE = {"header": {}, "ID": "77", "TTL": "2"}
DONE, NOT_DONE = {"header": {"revision": "17"}, "succeeded": True}, {"header": {"revision": "17"}}
LATE = {"message": "etcdserver: request timed out"}
DROPPED = {"message": "raft proposal dropped"}


HELD, GUARDED = coded(f"{MARK}/locks/3"), coded(f"{MARK}/guarded/3")


def decision(made, then):
    compare = {"key": HELD, "result": "EQUAL", "target": "CREATE", "create_revision": str(made)}
    return TXN, {"compare": [] if made is None else [compare], "success": [then]}


TAKE = {"request_put": {"key": HELD, "value": coded("held"), "lease": "77"}}
WRITE = {"request_put": {"key": GUARDED, "value": coded("9")}}
GIVE = {"request_delete_range": {"key": HELD}}


@pytest.mark.parametrize(
    ("answers", "out", "requests"),
    [
        ({GRANT: LEASE, TXN: DONE}, Granted(17), 2),
        ({GRANT: LEASE, TXN: NOT_DONE}, (Definite, "somebody holds the lock"), 2),
        ({GRANT: LEASE, TXN: LATE}, (Indefinite, LATE["message"]), 2),
        ({GRANT: LEASE, TXN: DROPPED}, (Definite, DROPPED["message"]), 2),
        (
            {GRANT: LEASE, TXN: {"succeeded": True}},
            (Indefinite, "malformed answer: a transaction without a revision"),
            2,
        ),
        ({GRANT: LATE, TXN: DONE}, (Definite, LATE["message"]), 1),
        ({GRANT: {"header": {}}, TXN: DONE}, (Definite, "malformed answer: a lease without a number"), 1),
    ],
)
def test_a_lock_is_taken(answers, out, requests):
    said, asked = run(F.ACQUIRE, Lease(lease_ms=1500), answers)
    assert said == out
    assert asked == [(GRANT, {"TTL": "2"}), decision(0, TAKE)][:requests], "each request once"


@pytest.mark.parametrize(("fencing", "made"), [("true", 9), ("false", None)])
def test_a_write_shows_its_token_if_there_is_fencing(fencing, made):
    said, asked = run(F.GUARDED, Token(token=9), {TXN: DONE}, client__fencing=fencing)
    assert said == Written(17)
    assert asked == [decision(made, WRITE)]


@pytest.mark.parametrize(("f", "then"), [(F.GUARDED, WRITE), (F.UNLOCK, GIVE)])
@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (NOT_DONE, (Definite, "the lock is not held under this token")),
        (LATE, (Indefinite, LATE["message"])),
        (DROPPED, (Definite, DROPPED["message"])),
    ],
)
def test_who_does_not_hold_the_lock_is_refused(f, then, answer, out):
    said, asked = run(f, Token(token=9), {TXN: answer})
    assert said == out
    assert asked == [decision(9, then)]


def test_a_lock_is_given_back():
    assert run(F.UNLOCK, Token(token=9), {TXN: DONE}) == (None, [decision(9, GIVE)])
