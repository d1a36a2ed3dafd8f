"""Whole runs on a real etcd: valid as it comes, invalid when clients ask for reads that may be old."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


def run(store, *options):
    """The exit code of a run, its results, and what it said."""
    argv = [sys.executable, "-m", "chaos", "run", "--system", "etcd", "--engine", "local", "--seed", "1"]
    argv += ["--time-limit", "40", "--store", str(store), *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=400, check=False)
    said = done.stdout + done.stderr
    path = store / "current" / "results.json"
    assert path.exists(), said
    return done.returncode, json.loads(path.read_text()), said


@pytest.mark.parametrize(
    ("workload", "nemesis", "backend"),
    [
        ("register", "leader-kill", "netns"),
        ("counter", "random-partition", "netns"),
        ("set", "random-partition", "docker"),
    ],
)
def test_etcd_is_valid(workload, nemesis, backend, tmp_path):
    code, results, said = run(tmp_path, "--workload", workload, "--nemesis", nemesis, "--backend", backend)
    assert code == 0, said
    assert all(fault["proven"] and fault["healed"] for fault in results["faults"])
    assert results["counts"]["ok"] > 1000
    shown = subprocess.run(
        [sys.executable, "-m", "chaos", "show", "-1", "--store", str(tmp_path), "--from", "5", "--to", "6"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert workload != "register" or " cas " in shown, "its operations are shown in their own words"


def test_reads_of_old_copies_are_found(tmp_path):
    old = ("--set", "client.serializable=true")
    code, results, said = run(tmp_path, "--nemesis", "random-partition", *old)
    assert code == 1, said
    found = results["anomalies"]["nonlinearizable"]
    assert not found["allowed"]
    assert found["examples"][0]["ops"], "the operations that have no order are shown"
    assert results["sentence"] in " ".join(said.split()), "and told first"
