"""The default system for real: one clean run while its masters are killed, through the command line."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e


def test_a_run_without_a_bug_is_valid_though_its_masters_are_killed(tmp_path):
    argv = [sys.executable, "-m", "chaos", "run", "--nemesis", "leader-kill", "--engine", "local", "--seed", "1"]
    argv += ["--time-limit", "24", "--fault-interval", "6", "--recovery-time", "5", "--rate", "100"]
    argv += ["--store", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = (tmp_path / "current").resolve()
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert (info["system"], info["status"], results["valid"]) == ("minimq", "checked", True)
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)] * 2
    assert len({fault["description"] for fault in results["faults"]}) == 2, "the second master is another broker"
    (copies,) = (row for row in results["checks"] if row["name"] == "replicas")
    assert (copies["valid"], copies["examined"]) == (True, "12 copies"), copies["found"]
    assert results["availability"][0]["share"] < 1.0, "no master, no acknowledgement"
    assert {one["fault"] for one in results["latency"]} == {None, 1, 2}
    for node in ("c1", "c2", "c3", "b1", "b2", "b3"):
        assert "ready" in (folder / "nodes" / node / "logs" / "stdout.log").read_text()
    assert not list(folder.glob("nodes/*/data")), "what the nodes stored is gone"
