"""Each example is installed by pip, is listed, and passes its own tests; none needs a line outside its package."""

import ast
import json
from pathlib import Path

import pytest
from example_packages import EXAMPLES, NAMES, chaos, install, python

LISTED = {
    "file_limit": {"nemeses": "random-file-limit"},
    "ids": {"models": "ids", "workloads": "ids", "checks": "unique-ids", "anomalies": "duplicate-id"},
    "markdown": {"reporters": "markdown"},
    "tinykv": {"systems": "tinykv", "settings": "durable"},
}
MOST_LINES = 140
"""Of code, without blank lines, comments and docstrings; tests apart."""


def lines_of_code(path: Path) -> int:
    """Lines that hold something else than a comment or a docstring."""
    tree = ast.parse(path.read_text())
    prose = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            prose |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = [text.strip() for text in path.read_text().splitlines()]
    return sum(bool(text) and text[0] != "#" and number not in prose for number, text in enumerate(lines, 1))


def test_every_example_is_tried_and_small():
    assert set(NAMES) == set(LISTED)
    for name in NAMES:
        own = list(EXAMPLES.glob(f"{name}/*/*.py"))
        assert 20 < sum(map(lines_of_code, own)) <= MOST_LINES, name
        assert (EXAMPLES / name / "README.md").is_file()


@pytest.mark.e2e
@pytest.mark.parametrize("name", NAMES)
def test_it_is_found_by_name_and_passes_its_own_tests(name, tmp_path):
    site = install(name, tmp_path)
    for group, word in LISTED[name].items():
        done = chaos(site, "list", group, "--json", cwd=tmp_path)
        rows = {row["name"]: row for row in json.loads(done.stdout)}
        assert word in rows, done.stderr
        assert "error" not in rows[word]
    options = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib")  # what is installed is imported
    done = python(site, "-m", "pytest", *options, str(tmp_path / f"{name}-source"), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
