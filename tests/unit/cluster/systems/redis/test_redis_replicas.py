"""What each server holds: offset, digest and contents of one moment, and whether two offsets are of one history."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from redis_server import FakeServer
from system_view import view_of

from chaos.core.replica_data import ReplicaData
from cluster.systems.redis import slots
from cluster.systems.redis.replicas import CONTENTS, RedisReplicas
from cluster.systems.redis.system import Redis

VIEW = view_of(Redis())
CLUSTER = view_of(Redis(), cluster__mode="cluster")
KEY = f"{VIEW.mark}/registers/0"


class Replica:
    """A server's answers. ``offsets``: one after the other, the last for ever. ``digest``: None is refused."""

    def __init__(self, role="slave", offsets=(70,), history="a" * 40, value="7", digest="d1", keys=(KEY,)):
        self.role, self.offsets, self.history = role, list(offsets), history
        self.value, self.digest, self.keys = value, digest, keys
        self.queued = []

    def __call__(self, command):
        if command[0] == "SCAN":
            return ["0", list(self.keys)]
        if command[0] == "DEBUG" and self.digest is None:
            return Exception("ERR DEBUG command not allowed. If the enable-debug-command option is set to ...")
        if command[0] == "EXEC":
            queued, self.queued = self.queued, []
            return [self.done(one) for one in queued]
        if command[0] not in ("MULTI", "READONLY"):
            self.queued.append(command)
        return "QUEUED"

    def done(self, command):
        if command[0] == "INFO":
            offset = self.offsets.pop(0) if len(self.offsets) > 1 else self.offsets[0]
            name = "master_repl_offset" if self.role == "master" else "slave_repl_offset"
            return f"# Replication\r\nrole:{self.role}\r\n{name}:{offset}\r\nmaster_replid:{self.history}\r\n"
        if command[0] == "DEBUG":
            return self.digest
        assert command[:2] == ("EVAL_RO", CONTENTS)
        return [["string", self.value] if key in self.keys else ["none", ""] for key in command[3:]]


def read(servers, timeout_s=0.0, view=VIEW):
    """What a reader says of servers that answer so, and what they were asked; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            reader = RedisReplicas(view)
            fakes = []
            for name, answer in servers.items():
                fakes.append(await stack.enter_async_context(FakeServer(answer)))
                if answer is None:
                    fakes[-1].away()
                reader._nodes.links[name] = fakes[-1].link
            found = await reader.read(timeout_s)
            await reader.close()
            return found, [fake.asked for fake in fakes]

    return asyncio.run(scenario())


def three(**last):
    return {"r1": Replica("master"), "r2": Replica(), "r3": Replica(**last)}


def test_offset_digest_and_contents_are_of_one_transaction():
    found, asked = read(three(), timeout_s=30.0)
    assert found == tuple(
        ReplicaData(
            node=name,
            subject="redis",
            position=70,
            entries={"registers/0": "7"},
            digests={"DEBUG DIGEST": "d1"},
        )
        for name in ("r1", "r2", "r3")
    )
    scan, moment = asked[1]
    assert scan == [("SCAN", "0", "MATCH", f"{VIEW.mark}/*", "COUNT", "1000")]
    assert [command[0] for command in moment] == ["MULTI", "INFO", "DEBUG", "EVAL_RO", "EXEC"]
    assert moment[3][2:] == ("1", KEY)


def test_a_copy_that_differs_and_a_key_that_only_one_has():
    other = f"{VIEW.mark}/sets/1"
    found, asked = read(three(value="6", digest="d2", keys=(KEY, other)), timeout_s=30.0)
    assert [one.entries for one in found] == [
        {"registers/0": "7"},
        {"registers/0": "7"},
        {"registers/0": "6", "sets/1": "6"},
    ]
    assert [one.digests["DEBUG DIGEST"] for one in found] == ["d1", "d1", "d2"]
    assert asked[0][1][3][3:] == (KEY, other), "everybody is asked for what anybody has"


def test_offsets_that_move_are_waited_for():
    found, _ = read(three(offsets=(50, 60, 70)), timeout_s=30.0)
    assert [one.position for one in found] == [70, 70, 70]
    found, _ = read(three(offsets=(50,)))
    assert [one.position for one in found] == [70, 70, 50], "not for ever"


def test_equal_offsets_of_other_histories_are_not_compared():
    found, _ = read(three(history="b" * 40, value="6", digest="d2"))
    assert [one.error for one in found] == ["", "", "its replication is another one: bbbbbbbbbbbb"]
    assert (found[2].position, found[2].entries, found[2].digests) == (None, {}, {})
    pair = {"r1": Replica("master", history="b" * 40), "r2": Replica(), "r3": None}
    found, _ = read(pair)
    assert [bool(one.error) for one in found] == [False, True, True], "of two the master's counts"


def test_a_server_that_gives_no_digest_is_compared_by_its_contents():
    found, asked = read(three(digest=None), timeout_s=30.0)
    assert [(one.error, one.entries, one.digests) for one in found] == [
        *(("", {"registers/0": "7"}, {"DEBUG DIGEST": "d1"}),) * 2,
        ("", {"registers/0": "7"}, {}),
    ]
    assert [command[0] for command in asked[2][-1]] == ["MULTI", "INFO", "EVAL_RO", "EXEC"]


def loading(_):
    return Exception("LOADING Redis is loading the dataset in memory")


def broken(command):
    return ["no", "answer"] if command[0] == "EXEC" else "QUEUED"


def refused_inside(command):
    return [Exception("ERR out of memory")] if command[0] == "EXEC" else "QUEUED"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "connect: refused"),
        (loading, "LOADING Redis is loading the dataset in memory"),
        (broken, "malformed answer: 'role'"),
        (refused_inside, "ERR out of memory"),
    ],
)
def test_a_server_that_does_not_say_tells_why(answer, why):
    found, _ = read({"r1": Replica("master"), "r2": Replica(), "r3": answer})
    assert [one.error for one in found] == ["", "", why]
    assert found[2].position is None


def test_the_servers_of_a_cluster_are_compared_shard_by_shard():
    keys = [f"{{{tag}}}/{CLUSTER.mark}/registers/{shard}" for shard, tag in enumerate(slots.TAGS)]
    servers = {
        f"r{n}": Replica("master" if n < 4 else "slave", (10 * (n % 3),), keys=(keys[(n - 1) % 3],))
        for n in range(1, 7)
    }
    found, asked = read(servers, 30.0, CLUSTER)
    assert [(one.subject, one.node, one.position, one.entries) for one in found] == [
        ("shard1", "r1", 10, {"registers/0": "7"}),
        ("shard1", "r4", 10, {"registers/0": "7"}),
        ("shard2", "r2", 20, {"registers/1": "7"}),
        ("shard2", "r5", 20, {"registers/1": "7"}),
        ("shard3", "r3", 0, {"registers/2": "7"}),
        ("shard3", "r6", 0, {"registers/2": "7"}),
    ]
    assert asked[3][0][0][3] == f"{{{slots.TAGS[0]}}}/{CLUSTER.mark}/*"
    assert asked[3][1][0] == ("READONLY",)


def test_one_server_has_nobody_to_be_compared_with():
    view = view_of(Redis(), cluster__mode="single")
    assert read({"r1": Replica("master")}, view=view) == ((), [[]])
    assert [
        Redis().promises(view_of(Redis(), cluster__mode=mode).settings).replicas_read
        for mode in ("sentinel", "cluster", "single")
    ] == [True, True, False]
