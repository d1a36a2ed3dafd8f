"""Redis for real: each mode in network namespaces, the probe inside, the master killed and started again."""

from pathlib import Path

import pytest
from inside_cluster import mark, running_cluster

from cluster.nodes import process
from cluster.systems.redis.system import Redis

pytestmark = pytest.mark.e2e


def used(running):
    """What eight clients did, and that it is what was to be."""
    said = running.ask("use")
    assert [(number, *one[1:3]) for number, one in enumerate(said) if one[1] != "ok"] == [
        (2, "fail", "the comparison does not hold")
    ]
    read = [result for *_, result in said if result is not None]
    assert [one["value"] for one in read if "value" in one] == [None, 5, None, 2]
    empty, whole = (one["elements"] for one in read if "elements" in one)
    assert (empty, sorted(whole)) == ([], [*range(120)])


def test_sentinels_make_another_master(tmp_path):
    settings = {"down-after-milliseconds": "500", "client.wait": "2", "client.routing": "follow"}
    with running_cluster(Redis(), tmp_path, settings) as running:
        running.await_processes()
        running.await_ready()
        (note,) = running.ask("confirm")["notes"]
        assert note["text"] == "redis; 7 settings proven to be in effect on 6 nodes"
        used(running)
        before = running.ask("observe")
        assert (before["lead"]["leader"], before["lead"]["epoch"]) == ("r1", 1)
        assert before["lead"]["members"] == ["r1", "r2", "r3"]

        process.kill(running.nodes["r1"])
        after = running.until(
            "another master with its replica",
            lambda: len((now := running.ask("observe"))["lead"]["members"]) == 2 and now["lead"]["epoch"] > 1 and now,
        )
        assert after["lead"]["leader"] in ("r2", "r3")
        assert after["seen"]["r1"]["error"] == "connect: refused"

        process.start(running.nodes["r1"], "e2e")
        running.until(
            "the old master to follow the new one",
            lambda: running.ask("observe")["seen"]["r1"].get("role") == "slave",
        )
        running.await_ready()
        now = running.ask("observe")["lead"]
        again = now["epoch"] > after["lead"]["epoch"]  # on a starved machine sentinels may elect once more
        assert again or now["leader"] == after["lead"]["leader"]

        follower = next(name for name in ("r1", "r2", "r3") if name != now["leader"])
        process.kill(running.nodes[follower])
        process.start(running.nodes[follower], "e2e")
        running.await_ready()
        kept = running.ask("observe")
        assert kept["lead"]["epoch"] > now["epoch"] or kept["seen"][follower]["role"] == "slave", (
            "it kept what the sentinels told it"
        )
        assert running.ask("remove") == {"removed": [f"keys {mark()}/*"], "left": []}


def test_a_cluster_is_one_from_the_start_and_a_replica_takes_over(tmp_path):
    settings = {"cluster.mode": "cluster", "cluster-node-timeout": "1000", "client.routing": "follow"}
    with running_cluster(Redis(), tmp_path, settings) as running:
        running.await_processes()
        running.await_ready()
        used(running)
        before = running.ask("observe")
        assert (before["lead"]["subject"], before["lead"]["leader"], before["lead"]["epoch"]) == ("shard1", "r1", 1)
        process.kill(running.nodes["r1"])
        running.until("the replica to lead", lambda: running.ask("observe")["lead"]["leader"] == "r4")
        process.start(running.nodes["r1"], "e2e")
        running.await_ready()
        after = running.ask("observe")
        assert (after["lead"]["leader"], after["lead"]["members"]) == ("r4", ["r1", "r4"])
        assert after["lead"]["epoch"] > 3


def test_a_single_server_starts_again_with_its_data(tmp_path):
    with running_cluster(Redis(), tmp_path, {"cluster.mode": "single"}) as running:
        running.await_processes()
        running.await_ready()
        used(running)
        process.kill(running.nodes["r1"])
        process.start(running.nodes["r1"], "e2e")
        running.await_ready()
        (first, *_) = running.ask("use")
        assert first[1:] == ["ok", None, {"value": 5}], "what was acknowledged before it was killed"


def altered(running, name, *command):
    """Have a replica take a write of its own."""
    node = running.nodes[name]
    folder = Path(node.launch.argv[4]).parent
    for words in (("CONFIG", "SET", "replica-read-only", "no"), ("READONLY",), command):
        cli = (f"{folder}/redis-cli", "-h", node.info.address, *words)
        done = node.host.run("env", f"LD_LIBRARY_PATH={folder}/lib", *cli, timeout_s=10)
        assert done.returncode == 0, done


def test_copies_are_compared_at_one_offset(tmp_path):
    with running_cluster(Redis(), tmp_path, {"client.wait": "2", "client.routing": "follow"}) as running:
        running.await_processes()
        running.await_ready()
        used(running)
        alike = running.ask("replicas")
        assert len({one["position"] for one in alike}) == 1
        assert [(one["node"], sorted(one["digests"]), one["entries"]) for one in alike] == [
            (name, ["DEBUG DIGEST", "all entries"], {}) for name in ("r1", "r2", "r3")
        ]
        assert len({tuple(one["digests"].values()) for one in alike}) == 1
        altered(running, "r3", "SET", f"{mark()}/registers/1", "99")
        forked = running.ask("replicas")
        assert len({one["position"] for one in forked}) == 1
        assert [one["entries"] for one in forked] == [{"registers/1": value} for value in ("5", "5", "99")]
        assert len({one["digests"]["DEBUG DIGEST"] for one in forked}) == 2


def test_copies_of_a_cluster_are_compared_shard_by_shard(tmp_path):
    with running_cluster(Redis(), tmp_path, {"cluster.mode": "cluster", "client.routing": "follow"}) as running:
        running.await_processes()
        running.await_ready()
        used(running)
        alike = running.ask("replicas")
        assert [(one["subject"], one["node"]) for one in alike] == [
            *(("shard1", name) for name in ("r1", "r4")),
            *(("shard2", name) for name in ("r2", "r5")),
            *(("shard3", name) for name in ("r3", "r6")),
        ]
        assert not any(one["error"] or one["entries"] for one in alike), alike
        for one, other in zip(alike[::2], alike[1::2], strict=True):
            assert (one["position"], one["digests"]) == (other["position"], other["digests"])
