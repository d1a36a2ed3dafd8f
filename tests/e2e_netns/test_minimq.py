"""The default system for real: clean runs while leaders are killed, through the command line."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e


def run(store, *options):
    """The folder, ``run.json`` and ``results.json`` of a run that must be valid."""
    argv = [sys.executable, "-m", "chaos", "run", "--engine", "local", "--seed", "1", "--recovery-time", "5"]
    argv += ["--time-limit", "24", "--fault-interval", "6", "--rate", "100", "--store", str(store), *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = (store / "current").resolve()
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert (info["system"], info["status"], results["valid"]) == ("minimq", "checked", True)
    return folder, info, results


def test_a_run_without_a_bug_is_valid_though_its_masters_are_killed(tmp_path):
    folder, _, results = run(tmp_path, "--nemesis", "leader-kill")
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)] * 2
    assert len({fault["description"] for fault in results["faults"]}) == 2, "the second master is another broker"
    (copies,) = (row for row in results["checks"] if row["name"] == "replicas")
    assert (copies["valid"], copies["examined"]) == (True, "12 copies"), copies["found"]
    assert results["availability"][0]["share"] < 1.0, "no master, no acknowledgement"
    assert {one["fault"] for one in results["latency"]} == {None, 1, 2}
    for node in ("c1", "c2", "c3", "b1", "b2", "b3"):
        assert "ready" in (folder / "nodes" / node / "logs" / "stdout.log").read_text()
    assert not list(folder.glob("nodes/*/data")), "what the nodes stored is gone"


@pytest.mark.longer
def test_two_groups_have_a_leader_each_and_a_fault_hits_the_named_one(tmp_path):
    folder, info, results = run(tmp_path, "--nemesis", "leader-kill@brokers-2", "--set", "cluster.groups=2")
    led = {subject["name"]: subject for subject in info["subjects"]}
    assert {name: subject.get("keys") for name, subject in led.items()} == {
        "brokers-1": [0, 2],
        "brokers-2": [1, 3],
        "controller": None,
    }
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)] * 2
    assert all(set(fault["targets"]) <= set(led["brokers-2"]["nodes"]) for fault in results["faults"])
    assert all("leader of brokers-2 b" in fault["description"] for fault in results["faults"])
    changed = {change["subject"] for change in results["failovers"]}
    assert changed == {"brokers-2"}, "the other group kept its leader"
    (copies,) = (row for row in results["checks"] if row["name"] == "replicas")
    assert (copies["valid"], copies["examined"]) == (True, "12 copies"), copies["found"]
    page = (folder / "report.html").read_text()
    assert all(name in page for name in ("brokers-1", "brokers-2"))
