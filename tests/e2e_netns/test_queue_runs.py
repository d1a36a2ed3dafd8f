"""Whole runs of queues on systems that are no message brokers: with settings that keep messages, and without."""

import pytest
from judged_run import judged_run, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

STREAM = ("--system", "redis", "--set", "client.wait=2", "--set", "client.queue=stream")
SAFE = {
    "zookeeper": ("--system", "zookeeper", "--nemesis", "random-partition"),
    "redis-stream": (*STREAM, "--nemesis", "leader-kill"),
    "nats": ("--system", "nats", "--nemesis", "leader-kill"),
}


def run(store, *options):
    what = ("--workload", "total-queue", "--seed", "3", "--time-limit", "25", "--rate", "60")
    return judged_run(store, *what, *options)


@pytest.mark.parametrize("queue", SAFE)
def test_no_message_is_lost(queue, tmp_path):
    code, results, said = run(tmp_path, *SAFE[queue])
    row = row_of(results, "total-queue")
    assert (code, row["valid"], "lost-write" in row["anomalies"]) == (0, True, False), said
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 500


def test_what_no_replica_has_confirmed_is_lost_with_its_master(tmp_path):
    code, results, said = run(tmp_path, "--system", "redis", "--nemesis", "leader-partition")
    assert code == 1, said
    assert results["anomalies"]["lost-write"]["examples"][0]["ops"], "the message and the empty answer are shown"
