"""What a client asks of a member for each operation, and what it makes of the answers."""

import asyncio
import base64

import msgspec
import pytest
from etcd_member import Member, variables
from etcd_operations import coded
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.coordination import unique_ids
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems._shared.routing import Route, Served
from cluster.systems.etcd.client import NUMBERS, EtcdClient
from cluster.systems.etcd.members import Members
from cluster.systems.etcd.system import Etcd

MARK = view_of(Etcd()).mark
DONE = {"header": {}}
HELD, NOT_HELD = {"header": {}, "succeeded": True}, {"header": {}}
LATE = {"message": "etcdserver: request timed out"}
RANGE, PUT, TXN = "v3/kv/range", "v3/kv/put", "v3/kv/txn"


def ranged(*values):
    """The answer to a range: nothing is said of an empty one, and nothing of an empty value."""
    return {"header": {}, **({"kvs": [{"value": coded(value)} for value in values], "count": "9"} if values else {})}


def run(ops, answers, number=-1, **settings):
    """What each operation was given or raised, and the requests behind the question for the leader."""

    async def scenario():
        async with Member(debug__vars=variables(1, 1)) as member:
            member.answers.update(answers)
            view = view_of(Etcd(), **settings)
            client = EtcdClient(view, number, 8, seed=1)
            client._links = dict.fromkeys(("n1", "n2", "n3"), member.gateway)
            client._route._source = Members({"n1": member.gateway})
            out = []
            for op in ops:
                received = Received()
                try:
                    await client.invoke(msgspec.structs.replace(op, deadline_ns=now_ns() + 5 * NS_PER_S), received)
                    out.append((received.node, received.result))
                except (Definite, Indefinite) as error:
                    out.append((type(error), str(error)))
            await client.close()
            return out, [(path, body) for path, body in member.asked if path.startswith("v3")]

    return asyncio.run(scenario())


def op(f, argument=None, key=3, process=17):
    return Invocation(process=process, client=0, f=f, key=key, deadline_ns=0, argument=argument)


@pytest.mark.parametrize(("values", "found"), [((), None), (("4",), 4)])
def test_a_register_is_read(values, found):
    out, asked = run([op(register.F.READ)], {RANGE: ranged(*values)})
    assert out == [("n1", Found(found))]
    assert asked == [(RANGE, {"key": coded(f"{MARK}/registers/3"), "serializable": False})]


def test_reads_may_be_asked_of_the_members_own_copy():
    _, asked = run([op(register.F.READ), op(sets.F.READ)], {RANGE: ranged()}, client__serializable="true")
    assert [body["serializable"] for _, body in asked] == [True, True]


def test_a_register_is_written():
    out, asked = run([op(register.F.WRITE, register.Write(value=4))], {PUT: DONE})
    assert out == [("n1", None)]
    assert asked == [(PUT, {"key": coded(f"{MARK}/registers/3"), "value": coded("4")})]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (HELD, ("n1", None)),
        (NOT_HELD, (Definite, "the comparison does not hold")),
        (LATE, (Indefinite, LATE["message"])),
        (None, (Indefinite, "connection closed by the server")),
    ],
)
def test_a_register_is_compared_and_set(answer, outcome):
    out, asked = run([op(register.F.CAS, register.Cas(expected=2, value=4))], {TXN: answer})
    assert [(one[0], one[1].replace("reset", "closed by the server") if one[1] else None) for one in out] == [outcome]
    key = coded(f"{MARK}/registers/3")
    compare = {"key": key, "result": "EQUAL", "target": "VALUE", "value": coded("2")}
    assert asked == [(TXN, {"compare": [compare], "success": [{"request_put": {"key": key, "value": coded("4")}}]})]


def added(body):
    """The key, the version that is demanded, and the numbers that are written."""
    (compare,), (success,) = body["compare"], body["success"]
    put = success["request_put"]
    assert (compare["target"], compare["result"], compare["key"]) == ("VERSION", "EQUAL", put["key"])
    key = base64.b64decode(put["key"]).decode().removeprefix(f"{MARK}/")
    return key, compare["version"], [int(number) for number in base64.b64decode(put["value"]).split()]


ADDS = {
    "sets": lambda number, process=17, key=3: op(sets.F.ADD, sets.Add(element=number), key, process),
    "counters": lambda number, process=17, key=3: op(counter.F.ADD, counter.Add(amount=number), key, process),
}


@pytest.mark.parametrize("kind", ADDS)
def test_a_process_adds_to_a_key_of_its_own_that_nobody_else_wrote(kind):
    add = ADDS[kind]
    _, asked = run([add(5), add(-6), add(7, process=18), add(8, key=2), add(9)], {TXN: HELD})
    assert [added(body) for _, body in asked] == [
        (f"{kind}/3/17-0", 0, [5]),
        (f"{kind}/3/17-0", 1, [5, -6]),
        (f"{kind}/3/18-0", 0, [7]),
        (f"{kind}/2/17-0", 0, [8]),
        (f"{kind}/3/17-0", 2, [5, -6, 9]),
    ]


def test_what_failed_is_not_written_with_the_next_number():
    answers = iter([HELD, {"message": "raft proposal dropped"}, NOT_HELD, HELD])
    out, asked = run([ADDS["sets"](number) for number in (5, 6, 7, 8)], {TXN: lambda _: next(answers)})
    assert out[1:3] == [(Definite, "raft proposal dropped"), (Definite, "the comparison does not hold")]
    assert [added(body)[1:] for _, body in asked] == [(0, [5]), (1, [5, 6]), (1, [5, 7]), (1, [5, 8])]


def test_a_full_key_is_left_for_the_next_one():
    _, asked = run([ADDS["sets"](number) for number in range(NUMBERS + 2)], {TXN: HELD})
    keys = [added(body) for _, body in asked]
    assert keys[NUMBERS - 1] == ("sets/3/17-0", NUMBERS - 1, [*range(NUMBERS)])
    assert keys[NUMBERS:] == [("sets/3/17-1", 0, [NUMBERS]), ("sets/3/17-1", 1, [NUMBERS, NUMBERS + 1])]


def test_a_read_takes_the_numbers_of_all_processes_at_once():
    out, asked = run([op(sets.F.READ), op(counter.F.READ)], {RANGE: ranged("5 -6", "7")})
    assert out == [("n1", sets.Elements([5, -6, 7])), ("n1", Found(6))]
    assert [(base64.b64decode(body["key"]), base64.b64decode(body["range_end"])) for _, body in asked] == [
        (f"{MARK}/{kind}/3/".encode(), f"{MARK}/{kind}/30".encode()) for kind in ("sets", "counters")
    ]
    out, _ = run([op(sets.F.READ), op(counter.F.READ)], {RANGE: ranged()})
    assert out == [("n1", sets.Elements([])), ("n1", Found(None))]


def test_a_pinned_client_stays_on_its_member():
    out, _ = run([op(register.F.READ)] * 2, {RANGE: ranged()}, number=6)
    assert [node for node, _ in out] == ["n2", "n2"]


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        ({"header": {"revision": "17"}}, ("n1", unique_ids.Id(17))),
        ({"header": {}}, (Indefinite, "malformed answer: a put without a revision")),
        (LATE, (Indefinite, LATE["message"])),
        ({"message": "raft proposal dropped"}, (Definite, "raft proposal dropped")),
    ],
)
def test_an_id_is_the_revision_of_a_put(answer, out):
    said, asked = run([op(unique_ids.F.GENERATE)], {PUT: answer})
    assert said == [out]
    assert asked == [(PUT, {"key": coded(f"{MARK}/ids/3"), "value": ""})], "one request, whatever is answered"


@pytest.mark.parametrize(
    "one",
    [
        op(register.F.READ),
        op(register.F.WRITE, register.Write(value=4)),
        op(register.F.CAS, register.Cas(expected=2, value=4)),
        op(sets.F.ADD, sets.Add(element=7)),
        op(unique_ids.F.GENERATE),
    ],
    ids=lambda one: type(one.f).__module__.rpartition(".")[2] + one.f.word,
)
def test_a_paused_member_gets_each_request_once(one):
    """It reads nothing until the operation is over; then it finds one request, and the next on another connection."""

    async def scenario():
        async with Member() as member:
            member.paused, out = True, []
            client = EtcdClient(view_of(Etcd()), -1, 8, seed=1)
            client._links = dict.fromkeys(("n1", "n2", "n3"), member.gateway)
            client._route._source = Fixed()
            for _ in range(2):
                with pytest.raises((Definite, Indefinite)) as error:
                    await client.invoke(msgspec.structs.replace(one, deadline_ns=now_ns() + NS_PER_S // 12), Received())
                out.append(str(error.value))
            await client.close()
            member.gateway.close()
            member.resumed.set()
            await member.heard_out()
            return out, len(member.asked), member.connections

    assert asyncio.run(scenario()) == ([NO_ANSWER] * 2, 2, 2)


class Fixed:
    """A route that is always the same."""

    async def ask(self, deadline_ns):
        return Route((Served("n1", ()),))

    def close(self):
        pass
