"""What a client asks of a member to take, renew, end and look for leases, and what it makes of the answers."""

import asyncio
import base64

import pytest
from etcd_member import Member, variables
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.coordination.lease import Alive, F, Living, Term, Which
from cluster.systems.etcd.client import EtcdClient
from cluster.systems.etcd.leases import GONE
from cluster.systems.etcd.members import Members
from cluster.systems.etcd.system import Etcd

MARK = view_of(Etcd()).mark
GRANT, PUT, KEEP, REVOKE, RANGE = "v3/lease/grant", "v3/kv/put", "v3/lease/keepalive", "v3/lease/revoke", "v3/kv/range"
LATE = {"message": "etcdserver: request timed out"}
NOT_FOUND = {"message": "etcdserver: requested lease not found"}
NO_LEADER = {"message": "etcdserver: no leader"}
DONE = {"header": {"revision": "17"}}


def coded(text):
    return base64.b64encode(text.encode()).decode()


def run(f, argument, answers, **settings):
    """What one operation was given or raised, and the requests behind the question for the leader."""

    async def scenario():
        async with Member(debug__vars=variables(1, 1)) as member:
            member.answers.update(answers)
            client = EtcdClient(view_of(Etcd(), **settings), -1, 8, seed=1)
            client._links = dict.fromkeys(("n1", "n2", "n3"), member.gateway)
            client._route._source = Members({"n1": member.gateway})
            received = Received()
            deadline_ns = now_ns() + 5 * NS_PER_S
            op = Invocation(process=17, client=0, f=f, key=3, deadline_ns=deadline_ns, argument=argument)
            try:
                await client.invoke(op, received)
                out = received.result
            except (Definite, Indefinite) as error:
                out = (type(error), str(error))
            await client.close()
            return out, [(path, body) for path, body in member.asked if path.startswith("v3")]

    return asyncio.run(scenario())


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
