"""The page of a run of transactions in a real browser: circles with their reasons, for every reader."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_transactions import run_folder
from pages import hindrances
from txn_histories import MUTATIONS, correct

from chaos.run.judging import judge
from reports import reporter

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run whose transactions form a circle."""
    folder = tmp_path_factory.mktemp("transactions") / "run"
    run_folder(folder, MUTATIONS["G2-item"](correct(random.Random(3), lists=True)), lists=True, workload="list-append")
    assert judge(folder, "local").valid is False
    return reporter.write(folder)[0]


def test_a_page_of_transactions_is_for_every_reader(open_page: Open, report: Path) -> None:
    page = open_page(report)
    assert hindrances(page) == []
    assert page.locator("svg.ring").count() > 0
    reasons = page.locator("svg.ring + ol.edges, .scroll:has(svg.ring) + ol.edges").first.locator("li")
    assert reasons.count() == page.locator("svg.ring").first.locator(".kind").count() > 1
