"""Whole runs of key spaces on real systems: with settings that promise safety, and with reads that may be old."""

import pytest
from judged_run import judged_run, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SAFE = {
    "etcd": ("--nemesis", "leader-kill"),
    "redis": ("--nemesis", "leader-kill", "--set", "client.wait=2"),
    "nats": ("--nemesis", "leader-kill", "--set", "cluster.replicas=1"),
}


def run(store, system, *options):
    what = ("--system", system, "--workload", "kv", "--seed", "3", "--time-limit", "25")
    return judged_run(store, *what, *options)


@pytest.mark.parametrize("system", SAFE)
def test_the_keys_of_a_space_are_what_its_changes_make_of_them(system, tmp_path):
    code, results, said = run(tmp_path, system, *SAFE[system])
    row = row_of(results, "kv")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert results["counts"]["ok"] > 1000
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


def test_reads_of_old_copies_are_found(tmp_path):
    options = ("--nemesis", "random-partition", "--set", "client.serializable=true")
    code, results, said = run(tmp_path, "etcd", *options)
    assert code == 1, said
    row = row_of(results, "kv")
    assert set(row["anomalies"]) == {"kv-stale-read"}, "what a member shows is old, and was so once"
