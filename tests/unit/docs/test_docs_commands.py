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
REFUSED = {"chaos run --rto": "always measured", "chaos run -c 0": "give a whole number from 1 to 10000"}
"""The commands that pages show because they are refused, and what is said."""


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


@pytest.mark.parametrize("line", [line for line in _commands() if line not in REFUSED], ids=str)
def test_the_command_can_be_typed(line: str) -> None:
    _parse(line)


def test_there_are_commands() -> None:
    assert len(_commands()) > 50


@pytest.mark.parametrize(("line", "says"), REFUSED.items())
def test_the_refused_ones_are_refused(line: str, says: str) -> None:
    assert line in _commands()
    with pytest.raises((UsageError, click.UsageError)) as refused:
        _parse(line)
    assert says in str(refused.value)
