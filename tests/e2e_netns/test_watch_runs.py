"""Whole runs of watches on a real etcd, a real NATS and a real ZooKeeper, with settings that promise safety."""

import pytest
from judged_run import judged_run, row_of

from checkers.coordination.watch import FOLLOWED

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


@pytest.mark.parametrize("nemesis", ["leader-kill", "random-partition"])
def test_watches_are_told_every_change(nemesis, tmp_path):
    what = ("--system", "etcd", "--workload", "watch", "--nemesis", nemesis)
    code, results, said = judged_run(tmp_path, *what, "--seed", "3", "--time-limit", "40")
    row = row_of(results, "watch")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert results["counts"]["ok"] > 500
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


def test_watches_of_nats_are_told_every_change_and_not_what_was_before(tmp_path):
    """With one replica: NATS 2.9 begins a watch at a server that lags too early (nats-server#6253)."""
    what = ("--system", "nats", "--workload", "watch", "--nemesis", "leader-kill", "--set", "cluster.replicas=1")
    code, results, said = judged_run(tmp_path, *what, "--seed", "3", "--time-limit", "25")
    row = row_of(results, "watch")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert row["found"].endswith("that is not judged"), "what is not judged is said"
    assert results["counts"]["ok"] > 500
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


@pytest.mark.parametrize("nemesis", ["leader-kill", "random-partition"])
def test_follows_of_zookeeper_are_told_every_change_before_it_is_read(nemesis, tmp_path):
    what = ("--system", "zookeeper", "--workload", "watch", "--nemesis", nemesis)
    code, results, said = judged_run(tmp_path, *what, "--seed", "3", "--time-limit", "25")
    row = row_of(results, "watch")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert FOLLOWED in row["found"], "what is not judged is said"
    assert int(row["examined"].split()[0]) > 1000, "events were told"
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])
