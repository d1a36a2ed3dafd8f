"""Pages of many operations: small, and drawn as shades with all that was not ok on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic
from pages import until

from chaos.core.op import Type
from chaos.core.series import REFUSED
from reports import reporter
from reports.folder import read_parts
from reports.page.build import report_data
from reports.page.html import page as page_of

Open = Callable[..., Any]
MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run of 10^6 operations, of which 125,000 are drawn one by one."""
    folder = synthetic.write(tmp_path_factory.mktemp("million") / "run", "invalid", points=125_000)
    return reporter.write(folder)[0]


def shades(page: Any) -> int:
    return int(page.get_attribute("#panels", "data-shades"))


def test_a_million_operations_are_shades_and_what_was_not_ok_is_drawn_on_them(open_page: Open, million: Path) -> None:
    assert million.stat().st_size < MOST_BYTES
    page = open_page(million)
    assert shades(page) > 500
    series = synthetic.series(125_000)
    not_ok = sum(kind not in (Type.OK, REFUSED) for kind in series.points.type)
    said = page.text_content("#panels ~ .hint, .together + .hint").replace("\u202f", "")
    assert f"125000 of 1000000 operations of the load one by one: all {not_ok} that were not ok" in said
    assert "in the shades" in said
    page.get_by_role("button", name="ok", exact=True).click()
    until(page, "document.getElementById('panels').dataset.shades === '0'")


def test_closely_looked_at_operations_are_drawn_on_their_shades(open_page: Open, million: Path) -> None:
    page = open_page(million, at="#at=50-53")
    until(page, "+document.getElementById('panels').dataset.to === 53")
    assert 0 < shades(page) < 500
    page.click("#oplist summary")
    until(page, "document.querySelectorAll('#oplist tr').length > 100")


def test_shades_are_of_all_operations_so_a_filter_takes_them_away(open_page: Open, million: Path) -> None:
    page = open_page(million)
    page.select_option("#filter-node", "b1")
    until(page, "document.getElementById('panels').dataset.shades === '0'")


def test_a_run_of_which_every_operation_is_drawn_has_no_shades(open_page: Open, tmp_path: Path) -> None:
    parts = read_parts(synthetic.write(tmp_path / "run", "valid", points=200_000))
    assert parts.series is not None
    parts = msgspec.structs.replace(parts, series=msgspec.structs.replace(parts.series, operations=200_000))
    (tmp_path / "report.html").write_text(page_of(report_data(parts)))
    assert (tmp_path / "report.html").stat().st_size < MOST_BYTES
    page = open_page(tmp_path / "report.html")
    assert shades(page) == 0
    page.focus("#panels")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    page.wait_for_selector(".reset:visible")


@pytest.mark.broad
def test_a_page_of_a_hundred_million_operations_is_as_small_as_its_counts(million: Path) -> None:
    parts = read_parts(million.parent)
    assert parts.series is not None
    series = parts.series
    many = msgspec.structs.replace(
        series,
        operations=10**8,
        rate={f: {kind: [100 * n for n in row] for kind, row in kinds.items()} for f, kinds in series.rate.items()},
        latencies={
            f: {
                kind: [[n if i % 2 == 0 else 100 * n for i, n in enumerate(row)] for row in rows]
                for kind, rows in kinds.items()
            }
            for f, kinds in series.latencies.items()
        },
    )
    text = page_of(report_data(msgspec.structs.replace(parts, series=many)))
    assert len(text.encode()) < MOST_BYTES
    assert len(text.encode()) < million.stat().st_size * 1.1
    assert "100\u202f000\u202f000 operations of the load one by one" in text
