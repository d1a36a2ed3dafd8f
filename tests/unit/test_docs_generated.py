"""Pages under docs/ that are generated from stored run data are exactly what their generator makes of it."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("generator", "page"),
    [
        ("rocketmq_matrix", "rocketmq.md"), ("findings", "findings.md"),
        ("minimq_bugs", "bugs.md"), ("minimq_clean", "clean-runs.md"), ("minimq_figures", "minimq-figures.md"),
        ("backends", "backend-costs.md"),
    ],
)
def test_page_is_what_the_stored_runs_say(generator: str, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module(generator)
    assert module.page(module.stored(module.ROWS)) == (ROOT / "docs" / page).read_text()
