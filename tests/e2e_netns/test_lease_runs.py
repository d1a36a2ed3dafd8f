"""Whole runs of leases on real systems: with settings that keep them, and by pings that do not."""

import pytest
from judged_run import judged_run, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


SAFE = {"etcd": (), "zookeeper": ("--set", "client.renew=attach")}


@pytest.mark.parametrize("system", SAFE)
@pytest.mark.parametrize("nemesis", ["leader-kill", "random-partition"])
def test_leases_live_as_long_as_was_acknowledged(nemesis, system, tmp_path):
    what = ("--system", system, "--workload", "lease", "--nemesis", nemesis, *SAFE[system])
    code, results, said = judged_run(tmp_path, *what, "--seed", "3", "--time-limit", "30")
    row = row_of(results, "lease")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert results["counts"]["ok"] > 1000
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


@pytest.mark.parametrize("options", [("redis", "--set", "client.wait=2"), ("nats",)], ids=lambda options: options[0])
def test_leases_live_where_a_majority_or_all_confirm_them(options, tmp_path):
    what = ("--system", *options, "--workload", "lease", "--nemesis", "leader-kill")
    code, results, said = judged_run(tmp_path, *what, "--seed", "3", "--time-limit", "25")
    row = row_of(results, "lease")
    assert (code, row["valid"], row["anomalies"]) == (0, True, {}), said
    assert results["counts"]["ok"] > 1000
    assert any(fault["proven"] and fault["healed"] for fault in results["faults"])


def test_a_server_that_is_cut_off_acknowledges_pings_of_sessions_that_end(tmp_path):
    what = ("--system", "zookeeper", "--workload", "lease", "--nemesis", "random-partition", "--rate", "100")
    code, results, said = judged_run(tmp_path, *what, "--seed", "3", "--time-limit", "40")
    assert code == 1, said
    assert results["anomalies"]["lease-lost-early"]["examples"][0]["ops"], "the renewal and the look are shown"
