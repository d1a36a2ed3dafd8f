"""Every command line of chaos in README.md and docs/ has options and arguments that the command takes."""

import re
import shlex

import click
import pytest
from repository import ROOT

from chaos.cli.main import COMMANDS, cli
from chaos.core.errors import UsageError

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^ *```\w*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )?(?:\.venv/bin/)?(chaos .+)$", re.MULTILINE)
PLACEHOLDERS = {"SEED": "1", "…": "path"}
REFUSED = "chaos run --rto"
"""The one command that a page shows because it is refused."""


def _commands() -> list[str]:
    found = set()
    for page in PAGES:
        for block in FENCE.findall(page.read_text()):
            found |= {re.split(r"\s+[#|>] ", line)[0].strip() for line in LINE.findall(block)}
    return sorted(line for line in found if line.split()[1] in COMMANDS)


def _parse(line: str) -> None:
    _, name, *words = shlex.split(line)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    if isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    command.make_context(name, [PLACEHOLDERS.get(word, word) for word in words])


@pytest.mark.parametrize("line", [line for line in _commands() if line != REFUSED], ids=str)
def test_the_command_can_be_typed(line: str) -> None:
    _parse(line)


def test_there_are_commands_and_the_refused_one_is_refused() -> None:
    assert len(_commands()) > 50
    assert REFUSED in _commands()
    with pytest.raises(UsageError, match="always measured"):
        _parse(REFUSED)
