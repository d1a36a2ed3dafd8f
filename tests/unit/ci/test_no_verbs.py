"""What records, runs and reads operations knows no word of any model: whoever adds a model changes nothing there."""

import ast
from pathlib import Path

import pytest
from repository import ROOT

from chaos import plugins
from chaos.models.registry import model_named

ROOMS = ("chaos/basics", "chaos/core", "chaos/storage", "chaos/worker", "chaos/run")
WORDS = {word.word for name in plugins.names("models") for word in model_named(name).words}
ORDINARY = {"read", "write", "send", "add", "put", "get", "range", "pop", "extend", "poll", "ack", "replica"}
"""Words of files, pipes, lists, queues, routes, answers and nodes too: parts of names that say nothing of models."""

KNOWN = {
    "drain_deadline_s": "an option of the command line, named for the phase that it bounds",
    "replica": "what a role of a system is",
}


def names_in(tree: ast.AST) -> set[str]:
    """Every identifier."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.keyword(arg=str(name)):
                found.add(name)
    return found


def wrong_in(source: str) -> list[str]:
    """Identifiers and texts that are words of a model, and imports of one."""
    tree = ast.parse(source)
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    wrong = [f"the text {text!r}" for text in (texts & WORDS) - KNOWN.keys()]
    members = {word.upper().replace("-", "_") for word in WORDS}
    parts = {part for word in WORDS - ORDINARY for part in (word.replace("-", "_"), f"{word.replace('-', '_')}s")}
    for name in names_in(tree) - KNOWN.keys():
        own = name.lower().strip("_")
        if name in members or own in parts or {*own.split("_")} & parts:
            wrong.append(f"the name {name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chaos.models"):
            wrong += [f"an import of {node.module}"] if node.module != "chaos.models.registry" else []
    return sorted(wrong)


@pytest.mark.parametrize("room", ROOMS)
def test_no_word_of_a_model_is_known(room: str) -> None:
    paths = sorted((ROOT / room).rglob("*.py"))
    assert paths
    found = {str(path.relative_to(ROOT)): wrong_in(path.read_text()) for path in paths}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from chaos.models.log.words import F",
        "if op.f is F.DRAIN: pass",
        "counts['send'] = 1",
        "def drain_pass(): pass",
        "def transact_all(): pass",
        "committed_read = 1",
    ],
)
def test_the_rule_would_find_a_word(source: str) -> None:
    assert wrong_in(source)


def test_the_rule_lets_files_be_read(tmp_path: Path) -> None:
    assert wrong_in("data = path.read_bytes(); pipe.send(data); seen.add(1); write_run(data)") == []
    assert "cas" in WORDS
