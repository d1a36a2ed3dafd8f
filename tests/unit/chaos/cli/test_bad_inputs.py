"""Bad inputs of every kind: each gets one clear line on the error stream and exit code 254, and leaves nothing."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import Said, said_here, said_of_each
from error_texts import FILE, PROMPT, golden, lay, said

from chaos.cli import main


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    lay(folder)
    return folder


@pytest.mark.parametrize("line", golden())
def test_it_is_refused_in_one_line(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    code, out, err = said_here(*shlex.split(line))
    assert (code, out) == (254, ""), err
    assert err.startswith("chaos: "), err
    assert err.count("\n") == 1, err
    again = "if it is meant: .venv/bin/python tests/support/error_texts.py"
    assert said(err, place) == golden()[line] + "\n", again
    assert sorted(place.rglob("*")) == before, "nothing is left behind"


LOCKED = [
    "run -d locked/x.yaml",
    "run --plan locked/plan.jsonl",
    "run --store locked/store",
    "run --nodes-file locked/nodes",
    "init minimq --output locked/x.yaml",
    "generate --ops 1k --output locked/x",
    "matrix locked/m.yaml",
    "check locked/run",
    "check locked/x.edn --format jepsen --model set",
    "show locked/run",
    "ls --store locked",
    "replay -1 --store locked",
    "report locked/run",
]


UNPRIVILEGED = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""What makes a process have no right to read everything; root loses it for this process."""


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """What each line comes to beside a folder that may not be read."""
    beside = tmp_path_factory.mktemp("beside")
    locked = beside / "locked"
    locked.mkdir()
    locked.chmod(0)
    said = said_of_each([line.split() for line in LOCKED], before=UNPRIVILEGED, cwd=beside)
    locked.chmod(0o700)
    return dict(zip(LOCKED, said, strict=True))


@pytest.mark.parametrize("line", LOCKED)
def test_what_may_not_be_read_or_written_is_named(line: str, refused: dict[str, Said]) -> None:
    code, _, err = refused[line]
    assert code == 254, err
    assert err.count("\n") == 1, err
    assert "locked" in err
    assert "Permission denied" in err


@pytest.mark.parametrize("argv", [["show"], ["check"], ["run", "-d"], ["run", "--store"], ["matrix"]], ids=" ".join)
def test_a_name_that_is_too_long_is_one_line_and_not_longer(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["chaos", *argv, "x" * 5000])
    assert main.run() == 254
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "File name too long" in said


@pytest.mark.broad
def test_a_full_disk_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        argv = [sys.executable, "-m", "chaos", "list", "nemeses"]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (
        254,
        "chaos: the output: No space left on device; make room, or write elsewhere\n",
    )


def test_there_are_many_and_each_is_another() -> None:
    lines = [line for line in FILE.read_text().splitlines() if line.startswith(PROMPT)]
    assert len(lines) == len(golden()) > 200
