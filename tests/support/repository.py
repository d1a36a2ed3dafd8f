"""Where tests find what lies in the repository, wherever they lie themselves."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
DATA = TESTS / "data"
HISTORIES = TESTS / "histories"
BENCHMARKS = ROOT / "benchmarks"
