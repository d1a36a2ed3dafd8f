"""Whole runs on a real Redis: valid where replicas confirm, invalid as it comes."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    """The exit code of a run, its results, and what it said."""
    argv = [sys.executable, "-m", "chaos", "run", "--system", "redis", "--engine", "local", "--seed", "4"]
    argv += ["--time-limit", "40", "--store", str(store), *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=400, check=False)
    said = done.stdout + done.stderr
    path = store / "current" / "results.json"
    assert path.exists(), said
    return done.returncode, json.loads(path.read_text()), said


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
