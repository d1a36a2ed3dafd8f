"""Whole runs on a real Redis: valid where replicas confirm, invalid as it comes."""

import pytest
from judged_run import judged_run

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    return judged_run(store, "--system", "redis", "--seed", "4", "--time-limit", "40", *options)


@pytest.mark.parametrize(
    ("workload", "nemesis", "backend"),
    [("register", "leader-kill", "netns"), ("set", "leader-partition", "docker")],
)
def test_what_all_replicas_confirm_is_valid(workload, nemesis, backend, tmp_path):
    confirmed = ("--set", "client.wait=2", "--backend", backend)
    code, results, said = run(tmp_path, "--workload", workload, "--nemesis", nemesis, *confirmed)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 1000


def test_a_master_that_is_killed_takes_acknowledged_elements_along(tmp_path):
    code, results, said = run(tmp_path, "--workload", "set", "--nemesis", "leader-kill")
    assert code == 1, said
    assert not results["anomalies"]["lost-write"]["allowed"]


def test_without_a_file_a_server_forgets(tmp_path):
    forgetful = ("--set", "cluster.mode=single", "--nemesis", "all-kill")
    assert run(tmp_path / "safe", "--workload", "set", *forgetful)[0] == 0
    code, results, said = run(tmp_path / "unsafe", "--workload", "set", *forgetful, "--set", "appendonly=no")
    assert code == 1, said
    assert not results["anomalies"]["lost-write"]["allowed"]
