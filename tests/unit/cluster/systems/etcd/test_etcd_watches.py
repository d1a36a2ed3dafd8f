"""What a client asks of a member to change a space and to watch it, and what it makes of the messages."""

import asyncio
import json

import pytest
from etcd_member import Member, variables
from etcd_operations import coded
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.coordination.watch import Change, Changes, Event, Events, F, From, Written
from cluster.systems.etcd.client import EtcdClient
from cluster.systems.etcd.gateway import Gateway
from cluster.systems.etcd.members import Members
from cluster.systems.etcd.system import Etcd

MARK = view_of(Etcd()).mark
TXN = "v3/kv/txn"
LATE = {"message": "etcdserver: request timed out"}


async def asked_of(gateway, member, f, argument):
    """What one operation was given and raised."""
    client = EtcdClient(view_of(Etcd()), -1, 8, seed=1)
    client._links = dict.fromkeys(("n1", "n2", "n3"), gateway)
    client._route._source = Members({"n1": member.gateway})
    received, error = Received(), None
    op = Invocation(process=17, client=0, f=f, key=3, deadline_ns=now_ns() + 5 * NS_PER_S, argument=argument)
    try:
        await client.invoke(op, received)
    except (Definite, Indefinite) as raised:
        error = type(raised), str(raised)
    await client.close()
    return received.result, error


def written(answer):
    async def scenario():
        async with Member(debug__vars=variables(1, 1), v3__kv__txn=answer) as member:
            changes = Changes(changes=(Change(1, 10), Change(2), Change(3)))
            out = await asked_of(member.gateway, member, F.WRITE, changes)
            return out, [one for one in member.asked if one[0].startswith("v3")]

    return asyncio.run(scenario())


DID = [{"response_put": {}}, {"response_delete_range": {"deleted": "1"}}, {"response_delete_range": {}}]


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        ({"header": {"revision": "17"}, "responses": DID}, (Written(revision=17, effects=0b011), None)),
        (LATE, (None, (Indefinite, LATE["message"]))),
        ({"message": "raft proposal dropped"}, (None, (Definite, "raft proposal dropped"))),
        (
            {"responses": DID},
            (None, (Indefinite, "malformed answer: a transaction without a revision or an answer")),
        ),
    ],
)
def test_a_write_is_one_transaction(answer, out):
    keys = [coded(f"{MARK}/spaces/3/{entry}") for entry in (1, 2, 3)]
    puts = [{"request_put": {"key": keys[0], "value": coded("10")}}]
    asked = {"success": [*puts, *({"request_delete_range": {"key": key}} for key in keys[1:])]}
    assert written(answer) == (out, [(TXN, asked)])


def message(**result):
    return json.dumps({"result": result}).encode() + b"\n"


def pair(entry, value, revision):
    return {"key": coded(f"{MARK}/spaces/{entry}"), "value": coded(str(value)), "mod_revision": str(revision)}


CREATED = message(created=True)
PUT = message(events=[{"kv": pair("3/1", 10, 7)}, {"kv": pair("3/2", 11, 7), "prev_kv": pair("3/2", 9, 5)}])
GONE = {
    "type": "DELETE",
    "kv": {"key": coded(f"{MARK}/spaces/3/1"), "mod_revision": "8"},
    "prev_kv": pair("3/1", 10, 7),
}
TOLD = [
    Event(batch=0, revision=7, entry=1, value=10),
    Event(batch=0, revision=7, entry=2, value=11, previous_revision=5, previous_value=9),
    Event(batch=1, revision=8, entry=1, value=-1, previous_revision=7, previous_value=10),
]


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def watched(*parts, status=200, ends=False, listen_ms=150):
    """What a watch was given and raised when a member sends these parts, and the requests that it had."""

    async def scenario():
        requests, writers = [], []

        async def serve(reader, writer):
            writers.append(writer)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            requests.append((head.split()[1].decode(), json.loads(await reader.readexactly(length))))
            writer.write(f"HTTP/1.1 {status} X\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            for part in parts:
                writer.write(chunk(part))
            if ends:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with Member(debug__vars=variables(1, 1)) as member:
            gateway = Gateway("127.0.0.1", server.sockets[0].getsockname()[1])
            out = await asked_of(gateway, member, F.SUBSCRIBE, From(revision=6, listen_ms=listen_ms))
        server.close()
        for writer in writers:
            writer.transport.abort()
        return out, requests

    return asyncio.run(scenario())


def test_a_watch_is_one_request_and_notes_what_comes():
    half = len(PUT) // 2
    out, requests = watched(CREATED + PUT[:half], PUT[half:] + message(events=[GONE]))
    assert out == (Events(TOLD, batches=2), None)
    asked = {
        "key": coded(f"{MARK}/spaces/3/"),
        "range_end": coded(f"{MARK}/spaces/30"),
        "start_revision": "6",
        "prev_kv": True,
    }
    assert requests == [("/v3/watch", {"create_request": asked})]


@pytest.mark.parametrize(
    ("parts", "more", "told", "error"),
    [
        ([], {}, [], "no watch was made in time"),
        ([CREATED, PUT], {"ends": True}, TOLD[:2], "the connection was closed"),
        ([CREATED, PUT, message(canceled=True)], {}, TOLD[:2], "the watch was canceled"),
        ([message(created=True, canceled=True, cancel_reason="no")], {}, [], "no"),
        ([json.dumps({"error": LATE}).encode() + b"\n"], {}, [], LATE["message"]),
        ([json.dumps(LATE).encode()], {"status": 503}, [], LATE["message"]),
    ],
)
def test_a_watch_that_ends_sooner_has_failed_with_what_it_was_told(parts, more, told, error):
    (given, raised), requests = watched(*parts, **more)
    assert (given.events, raised, len(requests)) == (told, (Definite, error), 1)


@pytest.mark.parametrize("reason", [{}, {"cancel_reason": "etcdserver: mvcc: required revision has been compacted"}])
def test_a_watch_of_what_is_compacted_says_what_is_not(reason):
    (given, raised), _ = watched(CREATED, PUT, message(canceled=True, compact_revision="9", **reason))
    assert given == Events(TOLD[:2], batches=1, oldest=9)
    assert raised == (Definite, "the revision is compacted; the oldest one is 9")


@pytest.mark.parametrize("part", [b"[\n", message(events=[{"kv": pair("3/1", "x", 7)}])])
def test_what_nobody_foresaw_is_a_failure(part):
    (given, raised), _ = watched(CREATED, part)
    assert given.events == []
    assert raised[1].startswith("malformed message")


def test_a_key_of_others_has_no_number():
    (given, raised), _ = watched(CREATED, message(events=[{"kv": pair("4/1", 10, 7)}, {"kv": pair("3/a", 11, 7)}]))
    assert ([one.entry for one in given.events], raised) == ([-1, -1], None)


def test_a_member_that_is_not_there_is_a_failure():
    async def scenario():
        async with Member(debug__vars=variables(1, 1)) as member:
            return await asked_of(Gateway("127.0.0.1", 1), member, F.SUBSCRIBE, From(revision=6, listen_ms=150))

    assert asyncio.run(scenario()) == (Events(), (Definite, "ConnectionRefusedError: the watch broke"))
