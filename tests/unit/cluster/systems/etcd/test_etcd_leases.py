"""What a client asks of a member to take, renew, end and look for leases, and what it makes of the answers."""

import pytest
from etcd_operations import coded, run
from system_view import view_of

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.lease import Alive, F, Living, Term, Which
from cluster.systems.etcd.leases import GONE
from cluster.systems.etcd.system import Etcd

MARK = view_of(Etcd()).mark
GRANT, PUT, KEEP, REVOKE, RANGE = "v3/lease/grant", "v3/kv/put", "v3/lease/keepalive", "v3/lease/revoke", "v3/kv/range"
LATE = {"message": "etcdserver: request timed out"}
NOT_FOUND = {"message": "etcdserver: requested lease not found"}
NO_LEADER = {"message": "etcdserver: no leader"}
DONE = {"header": {"revision": "17"}}


@pytest.mark.parametrize(
    ("answers", "out", "requests"),
    [
        ({GRANT: {"TTL": "5"}, PUT: DONE}, Alive(5000), 2),
        ({GRANT: {"TTL": "5"}, PUT: LATE}, (Indefinite, LATE["message"]), 2),
        ({GRANT: {"TTL": "5"}, PUT: NOT_FOUND}, (Definite, NOT_FOUND["message"]), 2),
        ({GRANT: LATE, PUT: DONE}, (Definite, LATE["message"]), 1),
        ({GRANT: {"header": {}}, PUT: DONE}, (Definite, "malformed answer: a lease without a length"), 1),
    ],
)
def test_a_lease_is_taken(answers, out, requests):
    said, asked = run(F.GRANT, Term(lease=9, ttl_ms=3500), answers)
    assert said == out
    name = asked[0][1]["ID"]
    assert int(name) > 2**32, "ids of a run are its own"
    assert int(name) % 2**32 == 9
    put = {"key": coded(f"{MARK}/leases/3/9"), "value": "", "lease": name}
    assert asked == [(GRANT, {"ID": name, "TTL": "4"}), (PUT, put)][:requests], "each request once"


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        ({"result": {"ID": "9", "TTL": "4"}}, Alive(4000)),
        ({"result": {"ID": "9"}}, (Definite, GONE)),
        ({"error": NO_LEADER}, (Indefinite, NO_LEADER["message"])),
        ({}, (Indefinite, "malformed answer: a keepalive without a result")),
        (NO_LEADER, (Indefinite, NO_LEADER["message"])),
        (LATE, (Indefinite, LATE["message"])),
        ({"message": "etcdserver: not capable"}, (Definite, "etcdserver: not capable")),
    ],
)
def test_a_lease_is_renewed(answer, out):
    said, asked = run(F.RENEW, Which(lease=9), {KEEP: answer})
    assert said == out
    assert [path for path, _ in asked] == [KEEP], "one request"
    assert int(asked[0][1]["ID"]) % 2**32 == 9


@pytest.mark.parametrize(
    ("answer", "out"),
    [(DONE, None), (NOT_FOUND, (Definite, NOT_FOUND["message"])), (LATE, (Indefinite, LATE["message"]))],
)
def test_a_lease_is_ended(answer, out):
    said, asked = run(F.REVOKE, Which(lease=9), {REVOKE: answer})
    assert (said, [path for path, _ in asked]) == (out, [REVOKE])


@pytest.mark.parametrize("serializable", ["true", "false"])
@pytest.mark.parametrize(
    ("answer", "out"),
    [
        ({}, Living()),
        ({"kvs": [{"key": coded(f"{MARK}/leases/3/{one}")} for one in (9, 12)]}, Living([9, 12])),
        ({"kvs": [{"key": coded(f"{MARK}/leases/3/x")}]}, (Definite, "malformed answer: a key that nobody put")),
        (LATE, (Definite, LATE["message"])),
    ],
)
def test_whoever_looks_asks_for_a_linearizable_range(serializable, answer, out):
    said, asked = run(F.READ, None, {RANGE: answer}, client__serializable=serializable)
    keys = {"key": coded(f"{MARK}/leases/3/"), "range_end": coded(f"{MARK}/leases/30"), "keys_only": True}
    assert (said, asked) == (out, [(RANGE, keys)])
