"""Whole runs on a real ZooKeeper: valid as it comes, invalid when clients read without a sync."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    return judged_run(store, "--system", "zookeeper", "--seed", "1", "--time-limit", "40", *options)


@pytest.mark.parametrize(
    ("workload", "nemesis", "options"),
    [
        ("register", "noop", ()),
        ("register", "leader-kill", ("--set", "cluster.observers=1")),
        ("set", "leader-kill", ("--backend", "docker")),
    ],
)
def test_zookeeper_is_valid(workload, nemesis, options, tmp_path):
    code, results, said = run(tmp_path, "--workload", workload, "--nemesis", nemesis, *options)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 1000


def test_reads_without_a_sync_are_found_to_be_old(tmp_path):
    """An observer that is cut off answers reads for the ten seconds that it waits for its leader; it never leads."""
    cut = ("--nemesis", "fixed-partition", "--fault-nodes", "o1")
    patient = ("--set", "cluster.observers=1", "--set", "syncLimit=20")
    few = ("--keys", "4")  # so that a read often meets a register that was just written
    code, results, said = run(tmp_path, *cut, *patient, "--set", "client.sync=false", *few)
    assert code == 1, said
    found = results["anomalies"]["nonlinearizable"]
    assert not found["allowed"]
    assert found["examples"][0]["ops"], "the operations that have no order are shown"
