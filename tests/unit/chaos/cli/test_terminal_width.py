"""What is printed on terminals of 80 and of 120 columns, and behind a pipe: tests/data/terminal has a file for each.

Write them again, and look at the difference:

    WRITE_TERMINAL=1 .venv/bin/python -m pytest -q tests/unit/chaos/cli/test_terminal_width.py
"""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from on_terminal import shown
from repository import DATA, HISTORIES

from chaos.cli.main import cli
from chaos.testing.history_files import load_history, write_run_folder

GOLDEN = DATA / "terminal"
COMMANDS = {
    "show": ("show", "RUN"),
    "show-around": ("show", "RUN", "--around", "2:0", "--context", "2"),
    "plan": ("plan", "--backend", "sim", "--nemesis", "leader-kill,random-partition", "--seed", "7"),
    "plan-all": ("plan", "--backend", "sim", "--nemesis", "all", "--seed", "8"),
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    write_run_folder(load_history(HISTORIES / "a-deposed-master-goes-on-after-its-pause.yaml"), folder)
    return folder


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_is_as_wide_as_it_says(name: str, width: int, run: Path) -> None:
    said = shown(width, run, *(str(run) if word == "RUN" else word for word in COMMANDS[name]), NO_COLOR="1")
    assert [line for line in said.splitlines() if len(line) > width] == []
    assert "…" not in said, "what does not fit goes on below"
    _compare(GOLDEN / f"{name}-{width}.txt", said)


@pytest.mark.parametrize("name", COMMANDS)
def test_behind_a_pipe_each_thing_has_one_line(name: str, run: Path) -> None:
    argv = [str(run) if word == "RUN" else word for word in COMMANDS[name]]
    _compare(GOLDEN / f"{name}-piped.txt", CliRunner().invoke(cli, argv, standalone_mode=False).output)


def _compare(file: Path, said: str) -> None:
    if "WRITE_TERMINAL" in os.environ:
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")
