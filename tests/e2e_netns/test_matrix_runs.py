"""``chaos matrix`` for real on the default system: cut off by SIGKILL in the middle of a run, and taken up again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from run_support import check_verdict

from chaos.core.clock import Deadline
from chaos.core.matrix_results import read_rows
from chaos.run.store import runs_in

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

MATRIX = """\
name: two
seed: 5
base: {system: minimq, engine: local, rate: 60, time-limit: 14, fault-interval: 4, fault-duration: 3, recovery-time: 3}
axes:
  nemesis: [leader-kill, leader-partition]
"""
SEQUENCE = """\
system: minimq
engine: local
rate: 60
time-limit: 32
recovery-time: 5
seed: 3
nemesis:
- {at: 3, nemesis: leader-partition@broker, duration: 10}
- {at: 5, nemesis: leader-suspend@controller, duration: 12}
- {after: 2, nemesis: random-kill@broker, duration: 9}
- {at: 20, nemesis: random-loss@broker, duration: 10}
"""


def chaos(*argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "chaos", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def under_load(run: Path) -> bool:
    events = run / "history" / "run.events"
    return events.exists() and b'"name":"load"' in events.read_bytes()


def carrying(run_id: str) -> list[int]:
    """The processes of a run that live."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"CHAOS_RUN={run_id}\0".encode() in environment:
                found.append(int(entry.name))
    return found


def test_a_matrix_that_was_killed_goes_on_with_the_run_that_was_cut_off(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(MATRIX)
    argv = ("matrix", str(file), "--store", str(tmp_path / "store"))
    folder = tmp_path / "store" / "matrix-two"
    first = chaos(*argv)
    deadline = Deadline("the second run to be under load", 300)
    while len(begun := runs_in(folder / "runs")) < 2 or not under_load(begun[-1]):
        deadline.check(str(begun))
        assert first.poll() is None, first.communicate()[0]
    again = chaos(*argv)
    assert "another chaos matrix is at work there" in again.communicate(timeout=60)[0]
    assert again.returncode == 254
    (row,) = read_rows(folder)
    (cut_off,) = (run for run in begun if str(run.relative_to(folder)) != row.run)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=30)
    deadline = Deadline("what belonged to the run to end with it", 60)
    while left := carrying(cut_off.name):
        deadline.check(str(left))

    second = chaos(*argv)
    said = second.communicate(timeout=400)[0]
    assert "1 of 2 runs are done already" in said
    assert f"removing {cut_off.relative_to(folder)}, which was cut off" in said
    assert not cut_off.exists()
    rows = read_rows(folder)
    assert rows[0] == row, "what was done is not done again"
    assert [one.cell for one in rows] == ["leader-kill", "leader-partition"]
    for one in rows:
        check_verdict(one.exit, folder / one.run, said)
    assert second.returncode == max(one.exit for one in rows)
    for one in rows:
        assert one.proven == one.planned == 2
        assert len(one.rto["send"]) == 2
        results = json.loads((folder / one.run / "results.json").read_text())
        assert (folder / one.run / "report.html").exists()
        assert one.sentence == results["sentence"]
    suite = ET.fromstring((folder / "junit.xml").read_text())  # noqa: S314 - our own file
    assert suite.get("tests") == "2"
    assert "leader-kill.1" in (folder / "summary.md").read_text()
    page = (folder / "index.html").read_text()
    assert all(f'href="{one.run}/report.html"' in page for one in rows)
    done = chaos(*argv)
    assert "2 of 2 runs are done already" in done.communicate(timeout=60)[0]
    assert done.returncode == second.returncode


def test_faults_at_once_are_each_proven_on_a_real_cluster(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(SEQUENCE)
    run = chaos("run", "-d", str(file), "--store", str(tmp_path))
    said = run.communicate(timeout=300)[0]
    folder = (tmp_path / "current").resolve()
    check_verdict(run.returncode, folder, said)
    results = json.loads((folder / "results.json").read_text())
    faults = results["faults"]
    assert [fault["name"] for fault in faults] == [
        "leader-partition@broker",
        "leader-suspend@controller",
        "random-kill@broker",
        "random-loss@broker",
    ]
    assert all(fault["proven"] and fault["healed"] for fault in faults), faults
    assert faults[1]["inject_ns"] < faults[0]["heal_ns"] < faults[1]["heal_ns"]
    again = (folder / "config.yaml").read_text()
    assert "steps: [{" in again
