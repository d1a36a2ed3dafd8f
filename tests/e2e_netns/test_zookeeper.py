"""ZooKeeper for real: voters and observers in network namespaces, the leader killed, a server paused."""

import sys

import pytest
from inside_cluster import mark, running_cluster

from cluster.nodes import process
from cluster.systems.zookeeper.system import ZooKeeper

pytestmark = pytest.mark.e2e


def used(running):
    """What eight clients did, and that it is what was to be; the nodes that answered."""
    said = running.ask("use")
    assert [(number, *one[1:3]) for number, one in enumerate(said) if one[1] != "ok"] == [
        (2, "fail", "the comparison does not hold")
    ]
    read = [result for *_, result in said if result is not None]
    assert [one["value"] for one in read if "value" in one] == [None, 5, None, 2]
    empty, whole = (one["elements"] for one in read if "elements" in one)
    assert (empty, sorted(whole)) == ([], [*range(120)])
    return {node for node, *_ in said}


def test_the_leader_is_killed_and_comes_back_with_its_data(tmp_path):
    settings = {"cluster.observers": "1", "syncLimit": "4", "forceSync": "no"}
    with running_cluster(ZooKeeper(), tmp_path, settings) as running:
        running.await_processes()
        running.await_ready()
        (note,) = running.ask("confirm")["notes"]
        assert note["text"] == "zookeeper 3.9.5; 3 settings proven to be in effect on 4 nodes"
        running.ask("prepare")
        running.ask("prepare")
        assert used(running) >= {"z1", "o1", "z2"}, "pinned clients stay on voters and observers in turn"

        before = running.until(
            "all to follow the leader",
            lambda: len((now := running.ask("observe"))["lead"]["members"]) == 4 and now,
        )
        leader = before["lead"]["leader"]
        assert sorted(seen["role"] for seen in before["seen"].values()) == [
            *("follower", "follower", "leader", "observer")
        ]
        process.kill(running.nodes[leader])
        after = running.until(
            "another leader",
            lambda: (now := running.ask("observe"))["lead"]["leader"] not in (None, leader) and now,
        )
        assert after["lead"]["epoch"] > before["lead"]["epoch"]
        assert after["seen"][leader]["error"] == "connect: refused"

        process.start(running.nodes[leader], "e2e")
        running.await_ready()
        assert running.ask("observe")["seen"][leader]["role"] == "follower"
        (first, *_) = running.ask("use")
        assert first[1:] == ["ok", None, {"value": 5}], "what was acknowledged before it was killed"
        assert running.ask("remove") == {"removed": [f"nodes /{mark()}"], "left": []}
        (first, *_) = running.ask("use")
        assert first[1:] == ["ok", None, {"value": None}], "nothing is left"


def test_five_voters_go_on_without_two_of_them(tmp_path):
    with running_cluster(ZooKeeper(), tmp_path, {"cluster.voters": "5", "client.routing": "follow"}) as running:
        running.await_processes()
        running.await_ready()
        running.ask("prepare")
        used(running)
        leader = running.ask("observe")["lead"]["leader"]
        gone = [leader, next(name for name in running.nodes if name != leader)]
        for name in gone:
            process.kill(running.nodes[name])
        running.until(
            "another leader",
            lambda: running.ask("observe")["lead"]["leader"] not in (None, *gone),
        )
        first, second, *_ = running.ask("use")
        assert (first[1:], second[1]) == (["ok", None, {"value": 5}], "ok")
        assert first[0] not in gone


def test_a_paused_server_gets_each_request_once(tmp_path):
    settings = {"client.routing": "pinned", "syncLimit": "60"}  # it stays in the ensemble while it is paused
    with running_cluster(ZooKeeper(), tmp_path, settings, "zookeeper_inside.py") as running:
        running.await_processes()
        running.await_ready()
        running.ask("prepare")
        assert running.ask("add") == ["ok", None, None]
        before = running.ask("received")
        assert running.ask("add") == ["ok", None, None]
        assert running.ask("received") == before + 1, "an answered request is one"

        process.pause(running.nodes["z2"])
        assert running.ask("add") == ["info", "no answer before the deadline", None]
        process.resume(running.nodes["z2"])

        kind, _, result = running.ask("read")
        assert (kind, sorted(result["elements"])) == ("ok", [1, 2, 3]), "what stayed unanswered took effect"
        assert running.ask("received") == before + 5, "once: an add, one for a session, a sync and a read"


RENAME = """
import glob, struct, sys, zlib
folder, old, new = sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()
for path in glob.glob(folder + "/log.*"):
    data, at = bytearray(open(path, "rb").read()), 16
    while at + 12 < len(data) and (size := struct.unpack_from(">qi", data, at)[1]) > 0:
        entry = bytes(data[at + 12 : at + 12 + size]).replace(old, new)
        data[at + 12 : at + 12 + size] = entry
        struct.pack_into(">q", data, at, zlib.adler32(entry))
        at += 12 + size + 1
    open(path, "r+b").write(data)
"""
"""Puts other bytes into a server's log of transactions, under checksums that are right."""


def test_copies_of_voters_and_observers_are_compared(tmp_path):
    with running_cluster(ZooKeeper(), tmp_path, {"cluster.observers": "1"}) as running:
        running.await_processes()
        running.await_ready()
        running.ask("prepare")
        used(running)
        alike = running.ask("replicas")
        assert [(one["node"], one["error"], one["entries"]) for one in alike] == [
            (name, "", {}) for name in ("z1", "z2", "z3", "o1")
        ]
        assert len({(one["position"], *one["digests"].values()) for one in alike}) == 1

        lead = running.ask("observe")["lead"]["leader"]
        other = "z3" if lead != "z3" else "z2"
        node = running.nodes[other]
        process.kill(node)
        log = f"{node.host.home}/data/version-2"
        done = node.host.run(sys.executable, "-c", RENAME, log, "/sets/1/117", "/sets/1/997", timeout_s=20)
        assert done.returncode == 0, done
        process.start(node, "e2e")
        running.await_ready()
        forked = running.ask("replicas")
        assert len({one["position"] for one in forked}) == 1, forked
        assert {one["node"]: sorted(one["entries"]) for one in forked} == {
            name: ["sets/1/997" if name == other else "sets/1/117"] for name in ("z1", "z2", "z3", "o1")
        }
