"""A cluster that does not come up is replaced once, is said, and ends in 255 with everything kept."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e


def test_a_cluster_that_never_comes_up_is_tried_twice_and_ends_in_255(tmp_path):
    argv = [sys.executable, "-m", "chaos", "run", "--system", "rocketmq", "--nemesis", "noop", "--engine", "local"]
    argv += ["--ready-deadline", "1", "--store", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 255, done.stdout + done.stderr
    assert "deploying again, the first cluster did not come up: waited" in done.stdout
    folder = (tmp_path / "current").resolve()
    assert (folder / "nodes-that-did-not-come-up" / "b1" / "logs").is_dir()
    assert (folder / "nodes" / "b1" / "logs").is_dir()
    info = json.loads((folder / "run.json").read_text())
    assert info["status"] == "crashed"
    assert "waited 1 s for every node's process to come up" in info["error"]
    assert '"deployed-again"' in (folder / "history" / "run.events").read_text()
    assert not list(folder.glob("nodes*/*/store")), "what the nodes stored is gone"
