"""What README.md and docs/ show: fenced blocks, and the command lines of chaos in them."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from repository import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^ *(?:\$ )?(?:[A-Z_]+=\S+ )?(?:\.venv/bin/|python3? -m )?(chaos .+)$", re.MULTILINE)
_BEHIND = re.compile(r"\s+(?:#|\||>|&)(?:\s+.*)?$")
_MAKE = re.compile(r"^ *(?:\$ )?make ([a-z-]+)|`make ([a-z-]+)[^`]*`", re.MULTILINE)
WORDS = {
    "SEED": "1",
    "SHARE": "1.0",
    "BACKEND": "netns",
    "NEMESIS": "leader-kill",
    "SYSTEM": "etcd",
    "WORKLOAD": "queue",
    "BUG": "forget-vote",
    "FOLDER": "store/latest",
    "HOST": "localhost",
    "…": "latest",
}
"""What a reader puts in, and what a test does."""


class Block(NamedTuple):
    """A fenced block."""

    page: str
    language: str
    text: str


class Command(NamedTuple):
    """A command line as it is shown, without prompt and comment, and its words with placeholders filled in."""

    page: str
    line: str

    @property
    def words(self) -> list[str]:
        """Behind ``chaos``."""
        return [re.sub(r"[A-Z]{3,}|…", lambda word: WORDS.get(word[0], word[0]), one) for one in self.split]

    @property
    def split(self) -> list[str]:
        """Behind ``chaos``, as they are shown."""
        return shlex.split(self.line)[1:]


def blocks() -> list[Block]:
    """All of them, in the order of the pages."""
    return [
        Block(str(page.relative_to(ROOT)), language, text)
        for page in PAGES
        for language, text in _FENCE.findall(page.read_text())
    ]


def commands() -> list[Command]:
    """Each line once; a line that ends in a backslash goes on in the next."""
    found: dict[str, Command] = {}
    for block in blocks():
        for line in _COMMAND.findall(re.sub(r"\s*\\\n\s*", " ", block.text)):
            typed = _BEHIND.sub("", re.split(r"\s+(?:#|\||>)\s", line)[0]).strip()
            found.setdefault(typed, Command(block.page, typed))
    return sorted(found.values(), key=lambda one: one.line)


def of_help() -> list[Command]:
    """The examples that ``chaos COMMAND --help`` ends with."""
    import click

    from chaos.cli.main import COMMANDS, cli

    found = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for line in re.findall(r"^  (\S.*)$", command.epilog or "", re.MULTILINE):
            typed = line.removeprefix("source <(").removesuffix(")" if line.startswith("source") else "")
            found.append(Command(f"chaos {name} --help", typed.partition(" > ")[0]))
    return found


def targets() -> set[str]:
    """Targets of make that a page names, in a block or between backquotes."""
    return {first or second for page in PAGES for first, second in _MAKE.findall(page.read_text())}


def yaml_blocks() -> list[Block]:
    """The blocks of YAML."""
    return [block for block in blocks() if block.language in {"yaml", "yml"}]


def yaml_in(page: str, word: str, folder: Path, name: str) -> None:
    """Write the first YAML block of a page that has a word."""
    text = next(block.text for block in yaml_blocks() if block.page == page and word in block.text)
    (folder / name).write_text(text)
