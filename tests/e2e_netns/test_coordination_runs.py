"""Whole runs of coordination on real systems, with settings that promise safety."""

import pytest
from judged_run import judged_run, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    return judged_run(store, "--seed", "3", "--time-limit", "25", *options)


SAFE = {"etcd": (), "zookeeper": (), "redis": ("--set", "client.wait=2"), "nats": ()}


@pytest.mark.parametrize("system", SAFE)
def test_ids_are_given_once(system, tmp_path):
    options = ("--system", system, "--workload", "unique-ids", "--nemesis", "leader-kill")
    _, results, said = run(tmp_path, *options, *SAFE[system])
    row = row_of(results, "distinct-ids")
    assert (row["valid"], row["anomalies"]) == (True, {}), said
    assert results["counts"]["ok"] > 1000
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


LOCKS = ("--workload", "lock", "--fault-interval", "6", "--fault-duration", "8", "--time-limit", "28")
PAUSED = {
    "etcd": ("--nemesis", "minor-suspend"),
    "redis": ("--set", "cluster.mode=single", "--nemesis", "all-suspend"),
    "zookeeper": ("--nemesis", "minor-suspend"),
}
"""Who must stand still for a write to come late: one of three servers, so that its clients outlive their locks while
others take them; of Redis all there is, since what waits at a master that was replaced is lost."""


@pytest.mark.parametrize("system", PAUSED)
def test_fencing_stops_holders_of_the_past(system, tmp_path):
    _, results, said = run(tmp_path, "--system", system, *PAUSED[system], *LOCKS)
    row = row_of(results, "lock")
    assert (row["valid"], row["anomalies"]) == (True, {}), said
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


@pytest.mark.parametrize("system", PAUSED)
def test_without_fencing_a_holder_of_the_past_writes(system, tmp_path):
    """What holders that stood still ask for when their locks have ended is done."""
    options = ("--system", system, *PAUSED[system], *LOCKS, "--set", "client.fencing=false")
    code, results, said = run(tmp_path, *options)
    assert code == 1, said
    assert set(results["anomalies"]) == {"write-after-loss"}, said
    assert results["anomalies"]["write-after-loss"]["examples"][0]["ops"], "both writes are shown"


def test_one_server_grants_a_lock_of_nats_to_one(tmp_path):
    """With one replica the comparison and the write are one step, also in NATS 2.9 (nats-server#4320)."""
    options = ("--system", "nats", "--workload", "lock", "--nemesis", "leader-kill", "--set", "cluster.replicas=1")
    code, results, said = run(tmp_path, *options)
    row = row_of(results, "lock")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert results["counts"]["ok"] > 500
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])
