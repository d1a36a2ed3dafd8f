"""Whole runs on machines reached by SSH."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

MINIMQ = ("c1", "c2", "c3", "b1", "b2", "b3")


def chaos(lab, *argv: str, timeout_s: float = 300, **env: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "chaos", "run", "--store", str(lab.folder / "store"), "--known-hosts"]
    command += [str(lab.known_hosts), "--engine", "local", *argv]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=lab.folder,
        env={**os.environ, "HOME": str(lab.folder), **env},
    )  # fmt: skip


def short(*more: str) -> list[str]:
    return ["--time-limit", "12", "--fault-interval", "4", "--fault-duration", "6", "--recovery-time", "3", *more]


def events_of(lab) -> list[dict]:
    folder = (lab.folder / "store" / "current").resolve()
    return [json.loads(line) for line in (folder / "history" / "run.events").read_text().splitlines()]


def test_a_run_with_a_partition_is_valid_and_leaves_the_machines_as_they_were(lab):
    made = lab(*MINIMQ)
    argv = ["--system", "minimq", "--nodes-file", made.nodes_file(), "--install", "--nemesis", "random-partition"]
    done = chaos(made, *argv, *short("--seed", "1", "--rate", "50"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "backend  ssh (auto: --nodes-file names its hosts)" in done.stdout
    assert "warning" not in done.stdout
    events = events_of(made)
    stages = [(event["stage"], event["evidence"]["proven"]) for event in events if event.get("evidence")]
    assert ("active", True) in stages
    assert ("healed", True) in stages
    assert all(proven for _, proven in stages)
    skews = [event for event in events if event.get("name") == "clock-skew"]
    assert sorted({event["node"] for event in skews}) == sorted(MINIMQ)
    assert all(abs(event["data"]["ahead_ns"]) <= event["data"]["error_ns"] + 1_000_000 for event in skews)
    folder = (made.folder / "store" / "current").resolve()
    for name in MINIMQ:
        assert (folder / "nodes" / name / "logs" / "stdout.log").stat().st_size > 0
        machine = made.machines[name]
        assert list(Path(machine.home, "root/.chaos/runs").iterdir()) == []
        assert "CHAOS" not in machine.run("iptables", "-S", timeout_s=10).text
