"""NATS for real: three servers in network namespaces, the probe inside, a leader killed and started again."""

import pytest
from inside_cluster import mark, running_cluster

from cluster.nodes import process
from cluster.systems.nats.system import Nats

pytestmark = pytest.mark.e2e


def brought_up(running):
    """The servers are one group, the buckets are there, and each has its leader."""
    running.await_processes()
    running.await_ready()
    assert running.ask("prepare") is None
    running.await_ready()


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


def test_another_server_leads_a_bucket(tmp_path):
    with running_cluster(Nats(), tmp_path, {"client.confirmReads": "true"}) as running:
        brought_up(running)
        (note,) = running.ask("confirm")["notes"]
        assert note["text"] == "nats 2.9.10; 4 settings proven to be in effect on 3 nodes"
        used(running)
        before = running.ask("observe")["lead"]
        assert (before["subject"], before["members"]) == ("kv1", ["n1", "n2", "n3"])

        first = before["leader"]
        process.kill(running.nodes[first])
        after = running.until(
            "another leader",
            lambda: (now := running.ask("observe"))["lead"]["leader"] not in (first, None) and now,
        )
        assert after["seen"][first]["error"] == "connect: refused"

        process.start(running.nodes[first], "e2e")
        running.await_ready()
        said = running.ask("use")
        assert said[0][1:] == ["ok", None, {"value": 5}], "what was acknowledged before the leader was killed"
        assert running.ask("remove") == {"removed": [f"stream KV_{mark()}-{n}" for n in (1, 2, 3)], "left": []}


def test_a_server_that_keeps_a_bucket_alone_starts_again_with_its_data(tmp_path):
    with running_cluster(Nats(), tmp_path, {"cluster.replicas": "1", "client.directGet": "true"}) as running:
        brought_up(running)
        used(running)
        assert running.ask("observe")["lead"] == {
            **running.ask("observe")["lead"],
            "leader": "n1",
            "members": ["n1"],
        }
        for name in ("n1", "n2"):  # key 1 is in the second bucket
            process.kill(running.nodes[name])
            process.start(running.nodes[name], "e2e")
        running.await_ready()
        (first, *_) = running.ask("use")
        assert first[1:] == ["ok", None, {"value": 5}], "what was acknowledged before it was killed"
