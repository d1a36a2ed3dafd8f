"""Index and comparison in a real browser: sorted, filtered, in both schemes, on a phone and on paper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import NARROW, WIDE, broken_words, hindrances
from small_matrix import PLAN, ROWS
from stored_runs import stored

from reports.across.compare import compare
from reports.across.compare_page import page as compare_page
from reports.across.figures import read_figures
from reports.across.index import page, view
from reports.across.stores import Store
from reports.matrix.pages import texts

Open = Callable[..., Any]
RUNS = (
    stored("2026-11-20T22:00:00Z", nemesis="leader-kill"),
    stored("2026-11-21T22:00:00Z", "invalid", nemesis="leader-kill"),
    stored("2026-11-22T22:00:00Z", nemesis="random-loss,leader-partition,major-suspend@controller"),
)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    out = tmp_path / "index.html"
    out.write_text(page(view(Store(runs=RUNS, matrices=()), archive=lambda run: f"{run.where}.zip")))
    return out


@pytest.fixture
def compared(tmp_path: Path, folders: dict[str, Path]) -> Path:
    out = tmp_path / "compared.html"
    kinds = ("valid", "invalid", "unknown")
    out.write_text(compare_page(compare([read_figures(folders[kind]) for kind in kinds], kinds), ("",) * 3))
    return out


def shown(page: Any, table: str) -> int:
    count: int = page.locator(f"#{table} tbody tr:not([hidden])").count()
    return count


def test_both_tables_are_filtered_together_and_sorted_apart(open_page: Open, index: Path) -> None:
    page = open_page(index)
    assert (shown(page, "trendtable"), shown(page, "runtable")) == (2, 3)
    page.get_by_label("nemesis").select_option("leader-kill")
    assert (shown(page, "trendtable"), shown(page, "runtable")) == (1, 2)
    assert page.text_content("[data-counts=runtable]") == "2 of 3 runs"
    page.locator("#filters").get_by_label("verdict").select_option("FAIL")
    assert shown(page, "runtable") == 1
    page.locator("#runtable").get_by_role("button", name="lost").click()
    assert page.locator("#runtable th[aria-sort=ascending]").text_content() == "lost"
    assert page.locator("#trendtable th[aria-sort]").count() == 0


def test_a_night_leads_to_its_run_and_says_what_it_was(open_page: Open, index: Path) -> None:
    page = open_page(index)
    mark = page.get_by_role("link", name="2026-11-21: FAIL")
    assert mark.get_attribute("href") == "g/run-2026-11-21/report.html"
    assert mark.text_content() == "✗"


@pytest.mark.parametrize("size", [NARROW, {"width": 768, "height": 900}, WIDE], ids=lambda size: str(size["width"]))
@pytest.mark.parametrize("which", ["index", "compared"])
def test_nothing_is_clipped_and_no_word_is_broken(
    open_page: Open, request: pytest.FixtureRequest, which: str, size: dict[str, int]
) -> None:
    page = open_page(request.getfixturevalue(which), size=size)
    assert broken_words(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize("which", ["index", "compared"])
def test_every_reader_reaches_all_of_it(open_page: Open, request: pytest.FixtureRequest, which: str) -> None:
    assert hindrances(open_page(request.getfixturevalue(which))) == []


@pytest.mark.parametrize("which", ["index", "compared"])
def test_paper_has_every_heading_and_nothing_to_press(
    open_page: Open, request: pytest.FixtureRequest, which: str
) -> None:
    page = open_page(request.getfixturevalue(which))
    page.emulate_media(media="print")
    named = [head for head in page.locator("th").all() if (head.text_content() or "").strip() not in ("", "letter")]
    assert len(named) > 10
    assert [head.text_content() for head in named if not head.inner_text().strip()] == []
    assert not page.locator("#filters").is_visible()


@pytest.mark.parametrize("which", ["index", "compared"])
def test_keys_scroll_every_table_that_may_be_wider_than_the_window(
    open_page: Open, request: pytest.FixtureRequest, which: str
) -> None:
    page = open_page(request.getfixturevalue(which))
    assert page.locator(".scroll").count() > 1
    assert page.locator(".scroll:not([tabindex='0'])").count() == 0


def test_cells_are_shaded_by_recovery_where_that_is_asked(open_page: Open, tmp_path: Path) -> None:
    out = tmp_path / "matrix.html"
    out.write_text(texts(PLAN, ROWS, ())["index.html"])
    page = open_page(out)

    def shades() -> list[str]:
        found: list[str] = page.eval_on_selector_all(
            "td.heat", "cells => cells.map(cell => getComputedStyle(cell).backgroundColor)"
        )
        return found

    by_verdict = shades()
    assert len(set(by_verdict)) == 3, "PASS, FAIL and UNKNOWN"
    page.get_by_label("median of send RTO").check()
    assert shades() != by_verdict
    assert shades()[0] == shades()[2], "both have a median of 2 s"
