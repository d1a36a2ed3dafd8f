"""The default system for real: one clean run while its masters are killed, through the command line."""

import json
import signal
import subprocess
import sys

import pytest
from host_support import until

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
    for node in ("c1", "c2", "c3", "b1", "b2", "b3"):
        assert "ready" in (folder / "nodes" / node / "logs" / "stdout.log").read_text()
    assert not list(folder.glob("nodes/*/data")), "what the nodes stored is gone"


def test_an_interrupted_run_is_healed_judged_and_kept(tmp_path):
    argv = [sys.executable, "-m", "chaos", "run", "--nemesis", "leader-partition", "--engine", "local", "--seed", "1"]
    argv += ["--time-limit", "600", "--fault-interval", "3", "--fault-duration", "500", "--rate", "100"]
    run = subprocess.Popen([*argv, "--store", str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        events = tmp_path / "current" / "history" / "run.events"
        until(lambda: events.exists() and '"stage":"active"' in events.read_text(), "the fault to be in force", 120)
        run.send_signal(signal.SIGINT)
        said, _ = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 130, said
    folder = (tmp_path / "current").resolve()
    info, results = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
    assert (info["status"], info["interrupted"]) == ("checked", True)
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)]
    assert results["counts"]
    assert " queues in " in said, "everything was read back"
    assert (folder / "report.html").exists()
