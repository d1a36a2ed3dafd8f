"""The page of a matrix in a real browser: sorted, filtered, on a phone, and copied."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic
from pages import NARROW, broken_words, hindrances
from small_matrix import PLAN, ROWS, row

from chaos.core.matrix_results import append_row
from reports import reporter
from reports.matrix.pages import write_pages

Open = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished matrix with one run folder beside it."""
    made = tmp_path / "matrix"
    made.mkdir()
    (made / "matrix.json").write_bytes(msgspec.json.encode(PLAN))
    for one in (*ROWS, row(3, took_s=900.0, rto={"send": (0.5,)})):
        append_row(made, one)
    (made / "runs" / "g").mkdir(parents=True)
    reporter.write(synthetic.write(made / "runs" / "g" / "0", "valid", points=50))
    write_pages(made)
    return made


def shown(page: Any) -> list[str]:
    """The runs that are shown, in their order."""
    found: list[str] = page.eval_on_selector_all(
        "#runtable tbody tr:not([hidden])", "rows => rows.map(row => row.cells[0].textContent)"
    )
    return found


def test_runs_are_sorted_by_a_column_either_way(open_page: Open, folder: Path) -> None:
    page = open_page(folder / "index.html")
    whole = shown(page)
    head = page.get_by_role("button", name="send RTO median")
    head.focus()
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort=ascending]").text_content() == "send RTO median"
    assert shown(page) == [whole[3], whole[0], whole[2], whole[1]]
    page.keyboard.press("Enter")
    assert shown(page)[0] == whole[1]
    page.get_by_role("button", name="run", exact=True).click()
    assert shown(page) == sorted(whole)


def test_runs_are_filtered_by_axis_verdict_and_words(open_page: Open, folder: Path) -> None:
    page = open_page(folder / "index.html")
    filters = page.locator("#filters")
    filters.get_by_label("fault").select_option("leader-kill")
    assert shown(page) == ["leader-kill.x.1", "leader-kill.y.1"]
    filters.get_by_label("verdict").select_option("FAIL")
    assert shown(page) == ["leader-kill.y.1"]
    assert page.text_content("#filtered") == "1 of 4 runs"
    filters.get_by_label("fault").select_option("")
    filters.get_by_label("verdict").select_option("")
    filters.get_by_label("words").fill("DRAIN random")
    assert shown(page) == ["random-loss.x.1"]


def test_a_copy_of_the_folder_leads_to_its_reports(open_page: Open, folder: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(folder, tmp_path / "elsewhere" / "copy"))
    shutil.rmtree(folder)
    page = open_page(copied / "index.html")
    links = page.eval_on_selector_all("a", "links => links.map(link => link.getAttribute('href'))")
    assert links
    assert not [link for link in links if link.startswith("/") or ":" in link]
    assert (copied / "runs/g/0/report.html").is_file()
    first = page.locator("a[href='runs/g/0/report.html']").first
    assert first.evaluate("link => link.href") == (copied / "runs/g/0/report.html").as_uri()


def test_on_a_phone_no_word_is_broken_and_nothing_is_cut_off(open_page: Open, folder: Path) -> None:
    page = open_page(folder / "index.html", size=NARROW)
    assert broken_words(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert page.eval_on_selector_all(".scroll", "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length") == 0
    assert page.get_by_role("button", name="took").is_visible(), "sorted on a phone as well"


def test_keys_scroll_every_table_that_may_be_wider_than_the_window(open_page: Open, folder: Path) -> None:
    page = open_page(folder / "index.html")
    assert page.locator(".scroll").count() > 1
    assert page.locator(".scroll:not([tabindex='0'])").count() == 0


def test_every_reader_reaches_all_of_it(open_page: Open, folder: Path) -> None:
    assert hindrances(open_page(folder / "index.html")) == []
