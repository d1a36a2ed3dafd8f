"""What each server's own copy holds: its nodes without a sync, at a transaction that it had before and after."""

import asyncio
import itertools
from contextlib import AsyncExitStack

import pytest
from system_view import view_of
from zookeeper_server import NOT_SERVING, FakeServer, names, packed, srvr, stat

from cluster.systems.zookeeper import replicas
from cluster.systems.zookeeper.replicas import DIGEST, MOVED, TOO_LONG, ZooKeeperReplicas
from cluster.systems.zookeeper.system import ZooKeeper

VIEW = view_of(ZooKeeper(), cluster__observers="1")
ROOT = f"/{VIEW.mark}"
TREE = {
    "": (b"", ["registers", "sets", "queues"]),
    "/registers": (b"", ["0"]),
    "/registers/0": (b"7", []),
    "/sets": (b"", ["0"]),
    "/sets/0": (b"", ["3", "4"]),
    "/queues": (b"", ["0"]),
    "/queues/0": (b"", ["m1"]),
    "/queues/0/m1": (b"5", []),
}
HELD = {
    **dict.fromkeys((ROOT, "registers", "sets", "sets/0", "sets/0/3", "sets/0/4", "queues", "queues/0"), ""),
    "registers/0": "7",
    "queues/0/m1": "5",
}


def server(zxids=("0x100000012",), tree=(), version=0, mode="follower", refuses=None):
    """A server. ``zxids``: what it says one after the other, the last for ever. ``tree``: what differs there."""
    nodes = {f"{ROOT}{path}": node for path, node in {**TREE, **dict(tree)}.items()}
    told = itertools.chain(zxids, itertools.repeat(zxids[-1]))

    def answer(kind, path):
        if refuses is not None:
            return refuses
        if path not in nodes:
            return -101
        data, below = nodes[path]
        if kind == "children":
            return names(*below)
        assert kind == "get", "nothing else is asked, a sync least of all"
        own = stat(version, length=len(data))
        return packed(data) + own[:-12] + len(below).to_bytes(4, "big") + own[-8:]

    class Words(dict):
        def get(self, word, default=""):
            return srvr(mode, next(told)) if word == "srvr" else default

    fake = FakeServer(answer)
    fake.words = Words()
    return fake


def read(servers, timeout_s=0.0):
    """What a reader says of these servers; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            reader = ZooKeeperReplicas(VIEW)
            for name, one in servers.items():
                fake = await stack.enter_async_context(FakeServer() if one is None else one)
                if one is None:
                    fake.stop()
                reader._servers[name] = fake.link
            found = await reader.read(timeout_s)
            await reader.close()
            return found

    return asyncio.run(scenario())


def four(**last):
    """Three that vote, and an observer that may differ."""
    return {"z1": server(), "z2": server(mode="leader"), "z3": server(), "o1": server(mode="observer", **last)}


def test_each_server_is_walked_through_its_own_copy():
    servers = four()
    found = read(servers, timeout_s=30.0)
    assert [(one.node, one.subject, one.position, one.error) for one in found] == [
        (name, "zookeeper", 0x100000012, "") for name in ("z1", "z2", "z3", "o1")
    ]
    assert all(one.entries == HELD for one in found)
    assert len({one.digests[DIGEST] for one in found}) == 1
    for one in servers.values():
        assert ("get", f"{ROOT}/queues/0/m1") in one.asked
        assert ("get", f"{ROOT}/sets/0/3") not in one.asked, "an element is its name"


def test_a_copy_that_differs_in_content_in_names_or_in_versions():
    other = {"/registers/0": (b"6", []), "/sets/0": (b"", ["3"])}
    found = read(four(tree=other.items()), timeout_s=30.0)
    assert found[3].entries == {
        key: "6" if "/0" in key and "reg" in key else was for key, was in HELD.items() if key != "sets/0/4"
    }
    assert found[3].position == found[0].position
    found = read(four(version=1), timeout_s=30.0)
    assert (found[3].entries, found[3].position) == (found[0].entries, found[0].position)
    assert found[3].digests != found[0].digests


def test_copies_that_differ_are_read_twice():
    servers = four(tree=[("/registers/0", (b"6", []))])
    read(servers, timeout_s=30.0)
    assert [one.asked.count(("get", ROOT)) for one in servers.values()] == [2] * 4


def test_servers_are_waited_for_until_all_have_applied_the_same():
    late = ("0x100000010", "0x100000010", "0x100000011", "0x100000012")
    assert [one.position for one in read(four(zxids=late), timeout_s=30.0)] == [0x100000012] * 4
    found = read(four(zxids=("0x100000010",)))
    assert [one.position for one in found] == [0x100000012] * 3 + [0x100000010], "not for ever"


def test_a_copy_that_moved_while_it_was_read_is_not_compared():
    found = read(four(zxids=("0x100000011", "0x100000012"), tree=[("/registers/0", (b"6", []))]))
    assert (found[3].error, found[3].position, found[3].entries) == (MOVED, None, {})


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (lambda: None, "connect: refused"),
        (lambda: FakeServer(words={"srvr": NOT_SERVING}), "not serving"),
        (lambda: FakeServer(words={"srvr": srvr("observer")}, session=False), "no session"),
        (lambda: server(refuses=-127), "ThrottledOp"),
        (lambda: FakeServer(lambda *_: b"xx", {"srvr": srvr("observer")}), "malformed answer: a buffer"),
    ],
)
def test_a_server_that_does_not_say_tells_why(last, why):
    found = read({**four(), "o1": last()})
    assert [one.error for one in found[:3]] == ["", "", ""]
    assert found[3].error.startswith(why)
    assert found[3].position is None


def test_a_walk_has_an_end(monkeypatch):
    monkeypatch.setattr(replicas, "_ASK_S", 0.5)
    silent = FakeServer(lambda *_: None, {"srvr": srvr("observer")})
    (*_, last) = read({**four(), "o1": silent})
    assert last.error in (TOO_LONG, "no answer before the deadline")


def test_it_is_promised():
    assert ZooKeeper().promises(VIEW.settings).replicas_read
