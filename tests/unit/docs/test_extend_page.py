"""docs/guide/extend.md shows the examples as they are, and names every group, protocol and bug that there is."""

import re
import textwrap
import tomllib

import pytest
from repository import ROOT

import chaos.testing
from chaos.cli.inspect import GROUPS

PAGE = (ROOT / "docs" / "guide" / "extend.md").read_text()
BLOCK = re.compile(
    r"\[`(?P<file>examples/[^`]+)`\][^\n]*\n\n```(?:python|toml)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)
ANY_BLOCK = re.compile(r"^```(?:python|toml)\n", re.MULTILINE)
SHOWN = [(found["file"], found["text"]) for found in BLOCK.finditer(PAGE)]
LEFT_OUT = re.compile(r"^ *# …\n", re.MULTILINE)


def plain(text: str) -> list[str]:
    """The lines of a text without the blank ones: a formatter has its own idea of those, on pages too."""
    return [line for line in textwrap.dedent(text).splitlines() if line.strip()]


def excerpts(text: str) -> list[list[str]]:
    """The pieces of a block between the lines that stand for what is left out."""
    return [plain(piece) for piece in LEFT_OUT.split(text)]


def holds(source: str, excerpt: list[str]) -> bool:
    """Whether neighbouring lines of a file are the excerpt, at whatever indentation."""
    lines = plain(source)
    pieces = ("\n".join(lines[i : i + len(excerpt)]) for i in range(len(lines) - len(excerpt) + 1))
    return any(plain(piece) == excerpt for piece in pieces)


def test_every_block_of_code_names_its_file():
    assert len(SHOWN) == len(ANY_BLOCK.findall(PAGE)) > 10
    assert {file.split("/")[1] for file, _ in SHOWN} == {path.parent.name for path in ROOT.glob("examples/*/README.md")}


@pytest.mark.parametrize(("file", "text"), SHOWN, ids=[f"{i}-{file}" for i, (file, _) in enumerate(SHOWN)])
def test_what_is_shown_stands_in_the_file(file, text):
    source = (ROOT / file).read_text()
    assert [piece for piece in excerpts(text) if not holds(source, piece)] == []


def test_the_rule_would_find_a_line_that_was_changed():
    assert holds("class A:\n    x = 1\n\n    y = 2\n", ["x = 1", "y = 2"])
    assert not holds("class A:\n    x = 1\n    y = 2\n", ["x = 1", "y = 3"])
    assert excerpts("a\n\n# …\n    b\n") == [["a"], ["b"]]


def test_every_group_of_entry_points_is_named():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert [group for group in points if f"`{group}`" not in PAGE] == []
    assert {group.removeprefix("chaos.") for group in points} - {"faults"} <= set(GROUPS)


def test_all_of_chaos_testing_is_told():
    assert [name for name in chaos.testing.__all__ if f"`{name}" not in PAGE] == []
