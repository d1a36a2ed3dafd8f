"""Pages under docs/ that are generated from stored run data are exactly what their generator makes of it."""

import importlib
from pathlib import Path

import pytest

from chaos.plugins import load

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("generator", "page"),
    [
        ("rocketmq_matrix", "rocketmq.md"), ("findings", "findings.md"),
        ("minimq_bugs", "bugs.md"), ("minimq_clean", "clean-runs.md"), ("minimq_figures", "minimq-figures.md"),
        ("backends", "backend-costs.md"), ("progress", "progress.md"),
        ("bench", "benchmarks.md"),
    ],
)
def test_page_is_what_the_stored_runs_say(generator: str, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module(generator)
    assert module.page(module.stored(module.ROWS)) == (ROOT / "docs" / page).read_text()


def test_the_margins_that_systems_promise_follow_from_the_stored_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    progress = importlib.import_module("progress")
    rows = progress.stored(progress.ROWS)
    measured = {name: progress.silences_of(name, rows) for name in progress.SYSTEMS}
    promised = {name: load("systems", name)().promises(load("systems", name)().resolve({})) for name in measured}
    assert any(measured.values())
    for name, silences in measured.items():
        assert not silences or promised[name].progress_margin_s == progress.margin_s(silences)
