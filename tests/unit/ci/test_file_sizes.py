"""No Python file is too long to be read at once: source, benchmarks, examples and tests."""

from pathlib import Path

import pytest
from repository import ROOT

MOST_LINES = 400
ROOMS = ("chaos", "cluster", "nemesis", "checkers", "spark_checkers", "reports", "benchmarks", "examples", "tests")


def too_long(folder: Path) -> dict[str, int]:
    lines = {path: len(path.read_text().splitlines()) for path in folder.rglob("*.py")}
    return {str(path.relative_to(folder)): number for path, number in lines.items() if number > MOST_LINES}


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_is_longer(room: str) -> None:
    assert too_long(ROOT / room) == {}


def test_a_longer_one_would_be_named(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("x = 1\n" * (MOST_LINES + 1))
    (tmp_path / "short.py").write_text("x = 1\n" * MOST_LINES)
    assert too_long(tmp_path) == {"long.py": MOST_LINES + 1}
