"""Whole runs of semaphores on real systems: with recipes and settings that keep the permits, and with another."""

import pytest
from judged_run import judged_run, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SAFE = {
    "zookeeper": ("--nemesis", "leader-kill"),
    "redis": ("--nemesis", "random-partition", "--set", "client.wait=2"),
    "nats": ("--nemesis", "leader-kill", "--set", "cluster.replicas=1"),
}
COUNTED = ("--nemesis", "noop", "--set", "client.countFirst=true")


def run(store, system, time_limit, *options):
    what = ("--system", system, "--workload", "semaphore", "--seed", "3", "--time-limit", time_limit)
    return judged_run(store, *what, *options)


@pytest.mark.parametrize("system", SAFE)
def test_there_are_never_more_holders_than_permits(system, tmp_path):
    code, results, said = run(tmp_path, system, "25", *SAFE[system])
    row = row_of(results, "semaphore")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert results["counts"]["ok"] > 300
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


def test_a_permit_too_many_is_found(tmp_path):
    code, results, said = run(tmp_path, "etcd", "12", *COUNTED)
    assert code == 1, said
    assert len(results["anomalies"]["permits-exceeded"]["examples"][0]["ops"]) == 4, "the grant and the three holders"
