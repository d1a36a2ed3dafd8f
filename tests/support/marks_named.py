"""Which files a part of the tests needs at all: to learn the marks of a test, pytest imports all that its file needs.

A test has only marks that its file names, and ``broad`` for where it is or for its browser. A file that names none of
what ``-m`` asks for need not be imported; of most parts that is the greater share of all files, in each worker.
"""

import re
from collections.abc import Iterable
from itertools import chain, combinations
from pathlib import Path

from _pytest.mark.expression import Expression

PROPERTIES = Path(__file__).parents[1] / "property"
BROAD = "broad"
OURS = frozenset({BROAD, "e2e", "spark", "backends", "controls", "longer"})
"""The marks of pyproject.toml, by which tests are chosen."""

BROWSERS = ("browser", "open_page")
"""Fixtures that make a test broad."""


def marks_in(path: Path, asked: Iterable[str]) -> frozenset[str]:
    """Those of the marks that tests of a file can have."""
    text = path.read_text()
    broad = PROPERTIES in path.parents or any(fixture in text for fixture in BROWSERS)
    return frozenset(mark for mark in asked if mark in text or (broad and mark == BROAD))


def names_of(expression: str) -> frozenset[str]:
    """Pure: the marks of which ``-m`` speaks."""
    return frozenset(re.findall(r"\w+", expression)) - {"and", "or", "not"}


def can_match(expression: str, marks: Iterable[str]) -> bool:
    """Pure: whether ``-m`` takes a test that has some of these marks, or all or none of them."""
    taken, some = Expression.compile(expression), list(marks)
    subsets = chain.from_iterable(combinations(some, size) for size in range(len(some) + 1))
    return any(taken.evaluate(lambda name, subset=subset, **_: name in subset) for subset in subsets)
