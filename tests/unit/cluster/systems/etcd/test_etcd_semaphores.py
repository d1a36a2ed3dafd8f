"""What a client asks of a member to take a permit and to give it back, and what it makes of the answers."""

import asyncio

import pytest
from etcd_member import Member, variables
from etcd_operations import coded, run
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.coordination.semaphore import F, Permit, Wanted
from cluster.systems.etcd.client import EtcdClient
from cluster.systems.etcd.members import Members
from cluster.systems.etcd.semaphores import NONE_FREE, NOT_HELD
from cluster.systems.etcd.system import Etcd

MARK = view_of(Etcd()).mark
GRANT, TXN, REVOKE, RANGE = "v3/lease/grant", "v3/kv/txn", "v3/lease/revoke", "v3/kv/range"
LEASE = {"header": {}, "ID": "77", "TTL": "4"}
LATE = {"message": "etcdserver: request timed out"}
DROPPED = {"message": "raft proposal dropped"}
WANTED = Wanted(lease_ms=3500, permits=2)
KEY, FIRST, BEHIND = (coded(f"{MARK}/permits/3{end}") for end in ("/77", "/", "0"))
PUT = {"request_put": {"key": KEY, "value": "", "lease": "77"}}
ALL = {"key": FIRST, "range_end": BEHIND}
LOWEST = {**ALL, "limit": 2, "sort_order": "ASCEND", "sort_target": "CREATE", "keys_only": True}
TAKE = (TXN, {"success": [PUT, {"request_range": LOWEST}]})
ASKED = [(GRANT, {"TTL": "4"}), TAKE]


def read(*revisions, made=17):
    """What the transaction says when the keys that were made first have these revisions."""
    pairs = [{"create_revision": str(one)} for one in revisions]
    return {
        "header": {"revision": str(made)},
        "succeeded": True,
        "responses": [{"response_put": {}}, {"response_range": {"kvs": pairs, "count": str(len(pairs))}}],
    }


@pytest.mark.parametrize("revisions", [(17,), (5, 17)])
def test_who_made_its_key_early_enough_has_a_permit(revisions):
    assert run(F.ACQUIRE, WANTED, {GRANT: LEASE, TXN: read(*revisions)}) == (Permit(17), ASKED)


@pytest.mark.parametrize("end", [{}, LATE, None], ids=["done", "late", "closed"])
def test_who_made_its_key_too_late_has_none_however_its_lease_ends(end):
    said, asked = run(F.ACQUIRE, WANTED, {GRANT: LEASE, TXN: read(5, 6), REVOKE: end})
    assert (said, asked) == ((Definite, NONE_FREE), [*ASKED, (REVOKE, {"ID": "77"})])


@pytest.mark.parametrize(
    ("answers", "out", "requests"),
    [
        ({GRANT: LATE}, (Definite, LATE["message"]), 1),
        ({GRANT: {"header": {}}}, (Definite, "malformed answer: a lease without a number"), 1),
        ({GRANT: LEASE, TXN: LATE}, (Indefinite, LATE["message"]), 2),
        ({GRANT: LEASE, TXN: DROPPED}, (Definite, DROPPED["message"]), 2),
        (
            {GRANT: LEASE, TXN: {"succeeded": True}},
            (Indefinite, "malformed answer: a transaction without a revision"),
            2,
        ),
        (
            {GRANT: LEASE, TXN: {"header": {"revision": "17"}, "responses": [{}]}},
            (Indefinite, "malformed answer: a transaction without what it read"),
            2,
        ),
    ],
)
def test_what_is_certain_of_a_permit_and_what_is_not(answers, out, requests):
    assert run(F.ACQUIRE, WANTED, answers) == (out, ASKED[:requests])


def test_a_client_may_count_first():
    answers = {RANGE: {"count": "1"}, GRANT: LEASE, TXN: {"header": {"revision": "17"}, "succeeded": True}}
    count = (RANGE, {**ALL, "count_only": True})
    said, asked = run(F.ACQUIRE, WANTED, answers, client__countFirst="true")
    assert (said, asked) == (Permit(17), [count, (GRANT, {"TTL": "4"}), (TXN, {"success": [PUT]})])


@pytest.mark.parametrize(
    ("answer", "said"),
    [({"count": "2"}, NONE_FREE), (LATE, LATE["message"]), (None, "not counted: connection closed by the server")],
)
def test_who_counts_too_many_takes_nothing(answer, said):
    out, asked = run(F.ACQUIRE, WANTED, {RANGE: answer}, client__countFirst="true")
    assert (out, len(asked)) == ((Definite, said), 1)


def given_back(answer):
    """What a client is told that takes permit 17 and gives it back, and what it asks for that."""

    async def scenario():
        async with Member(debug__vars=variables(1, 1)) as member:
            member.answers.update({GRANT: LEASE, TXN: read(17)})
            client = EtcdClient(view_of(Etcd()), -1, 8, seed=1)
            client._links = dict.fromkeys(("n1", "n2", "n3"), member.gateway)
            client._route._source = Members({"n1": member.gateway})
            out = None
            for f, argument in ((F.ACQUIRE, WANTED), (F.GIVE_BACK, Permit(17))):
                deadline_ns = now_ns() + 5 * NS_PER_S
                op = Invocation(process=17, client=0, f=f, key=3, deadline_ns=deadline_ns, argument=argument)
                try:
                    await client.invoke(op, Received())
                except (Definite, Indefinite) as error:
                    out = (type(error), str(error))
                member.answers[TXN] = answer
            await client.close()
            return out, [(path, body) for path, body in member.asked if path.startswith("v3")][2:]

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        ({"header": {"revision": "20"}, "succeeded": True}, None),
        ({"header": {"revision": "20"}}, (Definite, NOT_HELD)),
        (LATE, (Indefinite, LATE["message"])),
        (DROPPED, (Definite, DROPPED["message"])),
    ],
)
def test_a_permit_is_given_back_if_its_key_is_still_the_one_that_was_made(answer, out):
    holds = {"key": KEY, "result": "EQUAL", "target": "CREATE", "create_revision": "17"}
    asked = {"compare": [holds], "success": [{"request_delete_range": {"key": KEY}}]}
    assert given_back(answer) == (out, [(TXN, asked)])


def test_a_permit_that_was_not_given_to_the_client_is_not_asked_for():
    assert run(F.GIVE_BACK, Permit(17), {}) == ((Definite, NOT_HELD), [])
