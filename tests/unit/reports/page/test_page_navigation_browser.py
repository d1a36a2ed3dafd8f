"""Finding one's way on a page: contents, search and filters, many faults, and the operations one by one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic
from pages import NARROW, until

from chaos.core.series import Points
from reports.folder import read_parts
from reports.page.build import report_data
from reports.page.html import page as page_of

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of which every operation is drawn."""
    folder = synthetic.write(tmp_path_factory.mktemp("whole") / "run", "invalid")
    parts = read_parts(folder)
    assert parts.series is not None
    series = msgspec.structs.replace(parts.series, operations=len(parts.series.points.t_s))
    (folder / "report.html").write_text(page_of(report_data(msgspec.structs.replace(parts, series=series))))
    return folder / "report.html"


def drawn(page: Any) -> int:
    """How many operations of the whole run the list says that there are."""
    return int(page.text_content("#oplist .hint").split(" of ")[-1].split(" operations")[0].replace("\u202f", ""))


def points(**wanted: Any) -> int:
    """How many operations of the load have these values and are shown at first."""
    sample: Points = synthetic.series().points
    return sum(
        kind != 6 and all(getattr(sample, name)[i] == value for name, value in wanted.items())
        for i, kind in enumerate(sample.type)
    )


def test_the_contents_lead_to_every_section_and_mark_where_the_reader_is(
    open_page: Open, folders: dict[str, Path]
) -> None:
    page = open_page(folders["invalid"] / "report.html")
    entries = page.locator(".contents a")
    headings = page.locator("main h2").all_text_contents()
    assert entries.count() == len(headings) + 1
    for i in range(1, entries.count()):
        entries.nth(i).focus()
        page.keyboard.press("Enter")
        until(page, f"location.hash === '{entries.nth(i).get_attribute('href')}'")
        heading = page.locator(f"[id='{entries.nth(i).get_attribute('href')[1:]}']").bounding_box()
        bar = page.locator(".contents").bounding_box()
        assert heading["y"] >= bar["y"] + bar["height"], "the bar covers the heading"
    page.evaluate("document.getElementById('faults').scrollIntoView()")
    until(page, "document.querySelector('.contents [aria-current]').textContent === 'Faults'")
    assert page.locator(".contents").bounding_box()["y"] == 0, "it stays in view"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("node", "b1", {"node": 4}),
        ("key", "2", {"key": 2}),
        ("process", "103", {"process": 103}),
        ("error", synthetic.ERRORS[1], {"error": 2}),
    ],
)
def test_a_filter_leaves_what_it_names(
    open_page: Open, whole: Path, name: str, value: str, wanted: dict[str, int]
) -> None:
    page = open_page(whole)
    page.click("#oplist summary")
    until(page, "document.querySelectorAll('#oplist tr').length > 1")
    every = drawn(page)
    field = page.locator(f"#filter-{name}")
    field.fill(value) if name == "process" else field.select_option(value)
    until(page, f"!document.querySelector('#oplist .hint').textContent.includes('{every}')")
    added = 3  # the operation that the three examples are about is drawn beside the sample
    assert drawn(page) - points(**wanted) in range(added + 1)
    page.click("#filters .clear")
    assert drawn(page) == every
    assert field.input_value() == ""


def test_a_filter_by_fault_leaves_what_began_under_it(open_page: Open, whole: Path) -> None:
    page = open_page(whole)
    page.click("#oplist summary")
    page.select_option("#filter-fault", "2")
    until(page, "document.querySelector('#oplist .hint').textContent.includes(' of ')")
    times = [float(text.split()[0]) for text in page.locator("#oplist td:first-child").all_text_contents()]
    assert times
    assert all(60.0 <= time < 80.7 for time in times)
    assert page.locator("#explorer .count").text_content() == "none matches the filter"


def test_words_are_searched_in_operations_examples_and_logs(open_page: Open, whole: Path) -> None:
    page = open_page(whole)
    page.click("#oplist summary")
    page.click("#loglist summary")
    page.fill("#filter-words", "5:233")
    until(page, "document.querySelectorAll('#oplist tr').length < 10")
    assert "send 5:233 → 1204" in page.text_content("#oplist")
    assert page.locator("#loglist tr").count() == 1
    assert page.text_content("#explorer .count") == "1 of 4 that match, of 5"
    page.fill("#filter-words", "CUT OFF")
    until(page, "document.querySelectorAll('#loglist tr').length === 2")
    page.fill("#filter-words", "<img src=x onerror=alert(1)>")
    until(page, "document.querySelector('#filters .found').textContent.startsWith('0 operations and 0 examples')")


def test_counts_and_quantiles_are_of_what_the_filter_leaves(open_page: Open, whole: Path) -> None:
    page = open_page(whole)
    top = "document.getElementById('panels').dataset.p50"
    every = page.evaluate(top)
    page.select_option("#filter-node", "b1")
    until(page, f"{top} !== {every!r}")
    seen = msgspec.json.decode(page.evaluate(top))
    assert any(value is not None for value in seen[:20])
    assert all(value is None for value in seen[30:100]), "b1 answered nothing after the first fault"


def test_where_not_every_operation_is_drawn_the_page_says_that_counts_are_of_all(
    open_page: Open, folders: dict[str, Path]
) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.select_option("#filter-node", "b1")
    assert "counts and quantiles are of all" in page.text_content("#filters .found")


def test_filters_are_in_the_link(open_page: Open, whole: Path) -> None:
    page = open_page(whole)
    page.select_option("#filter-error", synthetic.ERRORS[1])
    page.fill("#filter-words", "a=b&c #d")
    until(page, "location.hash.includes('words')")
    other = open_page(whole, at=page.evaluate("location.hash"))
    assert other.input_value("#filter-error") == synthetic.ERRORS[1]
    assert other.input_value("#filter-words") == "a=b&c #d"
    assert other.text_content("#filters .found") == page.text_content("#filters .found")


def test_a_row_of_the_list_leads_to_its_point(open_page: Open, whole: Path) -> None:
    page = open_page(whole)
    page.select_option("#filter-error", synthetic.ERRORS[0])
    page.click("#oplist summary")
    until(page, "document.querySelectorAll('#oplist tr').length > 1")
    row = page.locator("#oplist tr").nth(1)
    time, error = row.locator("td").first.text_content(), row.locator("td").last.text_content()
    row.locator("button").focus()
    page.keyboard.press("Enter")
    card = page.text_content("#panels .card")
    assert f"at{time}" in card
    assert f"error{error}" in card
    assert page.evaluate("document.activeElement.id") == "panels"


def many_faults(folder: Path, number: int) -> str:
    parts = read_parts(folder)
    assert parts.results is not None
    first, second, _ = parts.results.faults
    quiet = msgspec.structs.replace(second, rto=(), not_ok=0)
    faults = (first, *(msgspec.structs.replace(quiet, id=i) for i in range(2, number + 1)))
    results = msgspec.structs.replace(parts.results, faults=faults)
    return page_of(report_data(msgspec.structs.replace(parts, results=results)))


@pytest.mark.parametrize(("number", "rows"), [(8, 8), (9, 8), (20, 8)])
def test_of_many_faults_those_that_say_most_are_shown_until_all_are_asked_for(
    open_page: Open, folders: dict[str, Path], tmp_path: Path, number: int, rows: int
) -> None:
    (tmp_path / "report.html").write_text(many_faults(folders["invalid"], number))
    page = open_page(tmp_path / "report.html")
    shown = page.locator("section[aria-labelledby=faults] tr:has(button.jump):visible")
    assert shown.count() == rows
    assert "leader-partition" in shown.first.text_content(), "the one that cost something"
    if number > rows:
        page.get_by_role("button", name=f"show all {number} faults").focus()
        page.keyboard.press("Enter")
        assert shown.count() == number
        page.keyboard.press("Enter")
        assert shown.count() == rows
        page.emulate_media(media="print")
        on_paper = "section[aria-labelledby=faults] tr:has(.mono.name):visible"
        assert page.locator(on_paper).count() >= number


def test_a_single_fault_can_be_filtered_by(open_page: Open, folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(many_faults(folders["invalid"], 1))
    page = open_page(tmp_path / "report.html")
    assert page.locator("#filter-fault option").all_text_contents() == ["any", "1 leader-partition"]


def test_on_a_phone_contents_and_filters_stay_within_the_page(open_page: Open, whole: Path) -> None:
    page = open_page(whole, size=NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    for label in page.locator("#filters label").all():
        box = label.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW["width"]
