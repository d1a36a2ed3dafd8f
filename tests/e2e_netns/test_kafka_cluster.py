"""Kafka for real: three combined nodes in network namespaces; a leader is paused, and another is killed."""

import pytest
from inside_cluster import mark, running_cluster

from cluster.nodes import process
from cluster.systems.kafka.system import Kafka

pytestmark = pytest.mark.e2e


def test_a_leader_is_paused_and_killed_and_nothing_is_lost(tmp_path):
    with running_cluster(Kafka(), tmp_path, {"cluster.mode": "combined"}, "kafka_inside.py") as running:
        running.await_processes()
        running.await_ready()
        running.ask("prepare")
        (note,) = running.ask("confirm")["notes"]
        assert note["text"].endswith("settings proven to be in effect on 3 brokers")

        sent = running.ask("send 3")
        assert {(kind, error) for _, _, kind, error, _, _ in sent} == {("ok", None)}
        logs = [[(offset, value) for key, value, _, _, _, offset in sent if key == own] for own in range(2)]
        assert [[offset for offset, _ in log] for log in logs] == [[0, 1, 2]] * 2
        as_lists = [[list(pair) for pair in log] for log in logs]
        assert running.ask("poll") == running.ask("read") == running.ask("drain") == as_lists
        running.until("every copy to be whole", lambda: running.ask("copies") == [as_lists] * 3)

        assert running.ask("group") == [["ok", None], ["ok", None], ["ok", 2], ["ok", 3]], "asked, told, told again"

        before = running.ask("observe")["leads"]
        assert [before[name]["leader"] for name in ("p0", "p1")] == ["b1", "b2"], "each the first of its own"
        assert before["controllers"]["leader"] in running.nodes

        process.pause(running.nodes["b1"])
        *_, kind, error, _, _ = running.ask("once")
        assert (kind, error) == ("info", "no answer before the deadline")
        process.resume(running.nodes["b1"])
        running.await_ready()
        (first, _) = running.ask("drain")
        assert [value for _, value in first[3:]] == [7], "what stayed unanswered was sent once"

        process.kill(running.nodes["b2"])
        now = running.until(
            "another leader",
            lambda: (leads := running.ask("observe")["leads"])["p1"]["leader"] not in (None, "b2") and leads["p1"],
        )
        assert now["epoch"] > before["p1"]["epoch"]
        running.until("a send to be taken", lambda: running.ask("send 1")[1][2] == "ok")
        (_, second) = running.ask("drain")
        assert second[:3] == as_lists[1], "what was acknowledged before it was killed"
        ended, shown = running.ask("transact")
        assert {(kind, error) for _, kind, error in ended} == {("ok", None)}, ended
        assert shown == ["commit", "commit-when-asked"]
        assert running.ask("remove") == {"removed": [f"topics and group {mark()}*"], "left": []}
