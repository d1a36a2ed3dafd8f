"""The shell steps of examples/ci for real, with a matrix of one short run: the server's files are what they leave."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from ci_files import NAMES, steps

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

MATRIX = """\
name: tiny
seed: 4
base:
  system: minimq
  engine: local
  rate: 20
  time-limit: 6
  recovery-time: 1
  thresholds: [lost==0, "errors(send)<50%"]
axes:
  nemesis: [noop]
"""
BUILD = {"PASS": 0, "UNKNOWN": 2}
"""A busy machine may know nothing in the end; no run may be FAIL."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all files work: the matrix is run once, and those after the first find it done."""
    folder = tmp_path_factory.mktemp("ci")
    (folder / "tiny.yaml").write_text(MATRIX)
    (folder / ".venv" / "bin").mkdir(parents=True)
    chaos = folder / ".venv" / "bin" / "chaos"
    chaos.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m chaos "$@"\n')
    chaos.chmod(0o755)
    return folder


def perform(name: str, place: Path, matrix: str) -> list[int]:
    """The exit codes of the steps, as a server does them: after a failure only those that are always done."""
    env = {**os.environ, "MATRIX": matrix, "STORE": "store", "GITHUB_STEP_SUMMARY": str(place / "step-summary.md")}
    codes: list[int] = []
    for step in steps(name):
        if not any(codes) or step.always:
            argv = ["bash", "-e", "-o", "pipefail", "-c", step.script]
            done = subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, check=False, timeout=400)
            codes.append(done.returncode)
            print(done.stdout, done.stderr)
    return codes


@pytest.mark.parametrize("name", NAMES)
def test_the_steps_leave_what_the_server_keeps(name: str, place: Path) -> None:
    for left in ("junit.xml", "summary.md", "step-summary.md"):
        (place / left).unlink(missing_ok=True)
    matrix, *others = perform(name, place, "tiny.yaml")
    verdict = (place / "summary.md").read_text().split("\n", 1)[0].removeprefix("# matrix tiny: ")
    assert matrix == BUILD[verdict], "the build's result is the verdict's"
    assert others
    assert set(others) == {0}
    root = ET.fromstring((place / "junit.xml").read_text())  # noqa: S314 - our own
    assert [case.attrib["name"] for case in root.iter("testcase")] == [
        "noop.1",
        "noop.1: threshold lost==0",
        "noop.1: threshold errors(send)<50%",
    ]
    assert (place / "public" / "index.html").is_file()
    if name.startswith("github"):
        assert (place / "step-summary.md").read_text() == (place / "summary.md").read_text()


def test_a_broken_threshold_ends_the_build_with_its_page(place: Path) -> None:
    """The stored run is judged again by a threshold that it does not hold, as a nightly build with a new wish is."""
    chaos = str(place / ".venv" / "bin" / "chaos")
    argv = [chaos, "matrix", "tiny.yaml", "--store", "store", "--judge-again", "--threshold", "lost>=1"]
    assert subprocess.run(argv, cwd=place, capture_output=True, check=False, timeout=400).returncode == 1
    codes = perform("github-actions.yml", place, "tiny.yaml")
    assert codes == [1, 0]
    assert (place / "summary.md").read_text().split("\n")[2].startswith("0 of 1 threshold held, 1 broken.")
    assert "| `lost>=1` | FAIL | noop.1 | 0 |" in (place / "summary.md").read_text()
    root = ET.fromstring((place / "junit.xml").read_text())  # noqa: S314 - our own
    assert [case.find("failure") is not None for case in root.iter("testcase")] == [True, True]
