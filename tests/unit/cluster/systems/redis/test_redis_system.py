"""Redis as a plugin: settings, nodes, files and commands of each mode."""

import re

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from cluster.systems.redis import settings as settings_of
from cluster.systems.redis.system import NODES, Redis


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"apendonly": "no"}, "--set apendonly: redis has no such setting here; did you mean appendonly?"),
        ({"maxmemory": "1"}, "--set maxmemory: redis has no such setting here; known: cluster.mode, "),
        ({"appendonly": "off"}, "--set appendonly=off: one of yes, no"),
        ({"cluster.mode": "raft"}, "--set cluster.mode=raft: one of sentinel, single, cluster"),
        ({"client.wait": "x"}, "--set client.wait=x: a whole number"),
        ({"client.wait": "3"}, "--set client.wait=3: a master has 2 replicas in this mode"),
        ({"client.wait": "1", "cluster.mode": "single"}, "--set client.wait=1: a master has 0 replicas in this mode"),
        ({"down-after-milliseconds": "10"}, "--set down-after-milliseconds=10: at least 100 ms"),
        ({"cluster-node-timeout": "900"}, "--set cluster-node-timeout: cluster.mode=sentinel has no such setting"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
        ({"min-replicas-to-write": "9999999999"}, "--set min-replicas-to-write=9999999999: a whole number"),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        Redis().resolve(settings)


@pytest.mark.parametrize("mode", settings_of.MODES)
def test_each_mode_has_its_settings_and_each_has_help(mode):
    resolved = Redis().resolve({"cluster.mode": mode})
    assert resolved == settings_of.of_mode(mode)
    assert set(resolved) <= set(settings_of.HELP)
    assert [spec.name for spec in Redis().topology(resolved)] == [name for name, _ in NODES[mode]]


def test_who_may_lead_what():
    system = Redis()
    (one,) = system.subjects(system.resolve({}), 8)
    assert (one.name, one.nodes, one.keys) == ("redis", ("r1", "r2", "r3"), None)
    shards = system.subjects(system.resolve({"cluster.mode": "cluster"}), 8)
    assert [(shard.name, shard.nodes, shard.keys) for shard in shards] == [
        ("shard1", ("r1", "r4"), (0, 3, 6)),
        ("shard2", ("r2", "r5"), (1, 4, 7)),
        ("shard3", ("r3", "r6"), (2, 5)),
    ]


def launched(name, **settings):
    view = view_of(Redis(), **settings)
    node = next(node for node in view.nodes if node.name == name)
    return Redis().launch(node, "/home/x", "/art", view)


def test_a_server_and_its_file():
    made = launched("r2", appendonly="no")
    assert made.argv[4:] == ("/art/redis-server", "data/redis.conf")
    lines = made.files["first/redis.conf"].decode().splitlines()
    assert {
        "bind 198.18.0.11",
        "enable-debug-command yes",
        "replicaof 198.18.0.10 6379",
        "appendonly no",
        "appendfsync always",
    } <= set(lines)
    assert "replicaof" not in launched("r1").files["first/redis.conf"].decode()
    assert "announce" not in launched("r1", cluster__mode="single").files["first/redis.conf"].decode()


def test_a_sentinel_and_its_file():
    made = launched("s1", **{"down-after-milliseconds": "700"})
    assert made.argv[4:] == ("/art/redis-server", "data/sentinel.conf", "--sentinel")
    lines = made.files["first/sentinel.conf"].decode().splitlines()
    monitor = lines.index("sentinel monitor redis 198.18.0.10 6379 2")
    assert lines.index("sentinel down-after-milliseconds redis 700") > monitor, "in the order that Redis demands"
    assert lines.index("sentinel config-epoch redis 1") > monitor


def test_a_server_of_a_cluster_knows_it_from_the_start():
    made = launched("r4", cluster__mode="cluster", **{"cluster-node-timeout": "1500"})
    lines = made.files["first/redis.conf"].decode().splitlines()
    assert {"cluster-enabled yes", "cluster-node-timeout 1500", "cluster-announce-ip 198.18.0.13"} <= set(lines)
    assert "198.18.0.13:6379@16379 myself,slave" in made.files["first/nodes.conf"].decode()


def test_what_a_node_wrote_into_its_file_stays():
    """The file is given once; Redis keeps in it whom a server follows and which epoch a sentinel is in."""
    made = launched("r1")
    assert made.argv[:2] == ("sh", "-c")
    assert all(path.startswith("first/") for path in made.files)
    assert made.data == ("data",)


def test_how_soon_another_leads_depends_on_the_timeouts():
    system = Redis()
    promised = [
        system.promises(system.resolve(settings)).fails_over_after_s
        for settings in (
            {},
            {"down-after-milliseconds": "3000"},
            {"cluster.mode": "cluster"},
            {"cluster.mode": "cluster", "cluster-node-timeout": "5000"},
            {"cluster.mode": "single"},
        )
    ]
    assert promised == [13.5, 15.0, 8.0, 20.0, 0.0]
    assert not system.promises(system.resolve({})).allowed, "that Redis may lose is told and not excused"


def test_an_unknown_model_is_not_served():
    assert Redis().operations("log", {}) == frozenset()
    assert {word.word for word in Redis().operations("register", {})} == {"read", "write", "cas"}
