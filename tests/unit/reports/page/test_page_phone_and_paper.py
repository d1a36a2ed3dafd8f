"""The page on a phone and on paper."""

from pathlib import Path

import pytest
import synthetic
from page_browser import Open, colours
from pages import NARROW, WIDE, broken_words, until


def test_printing_is_light_and_unfolds_what_is_folded(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html", scheme="dark")
    folded = page.locator("details:not(.ops):not([open])").count()
    assert folded > 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not(.ops):not([open])").count() == 0
    assert "59,156,240" in colours(page, "operations/s")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not(.ops):not([open])").count() == folded
    assert "94,179,255" in colours(page, "operations/s")
    assert len(page.pdf(format="A4", print_background=True)) > 20_000


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_on_a_phone_no_word_is_broken_and_nothing_is_cut_off(
    open_page: Open, folders: dict[str, Path], kind: str
) -> None:
    page = open_page(folders[kind] / "report.html", size=NARROW)
    assert broken_words(page) == []
    cut = page.evaluate(
        "() => [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.textContent.slice(0, 80))"
    )
    assert [text for text in cut if not text.strip().startswith("process")] == []


def test_on_a_phone_an_anomalys_operations_are_a_list(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html", size=NARROW)
    assert not page.locator("svg.trace >> nth=0").is_visible()
    steps = page.locator(".steps >> nth=0").locator("li")
    said = steps.all_text_contents()
    assert any("24.302 s" in one and "send 5:233 → 1204 (b1, pinned client)" in one for one in said)
    assert any("fault 1 ends" in one for one in said)
    assert said.index(next(one for one in said if "5:233" in one)) < said.index(
        next(one for one in said if "fault 1 ends" in one)
    )
    page.set_viewport_size(WIDE)
    page.wait_for_selector("svg.trace >> nth=0", state="visible")


def test_on_paper_the_panels_keep_their_shape(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1000})
    until(page, "document.querySelector('#panels canvas').clientWidth <= 703")
    drawn, shown = page.eval_on_selector(
        "#panels canvas", "canvas => [canvas.width / canvas.height, canvas.clientWidth / canvas.clientHeight]"
    )
    assert shown == pytest.approx(drawn, rel=0.02), "what is drawn is squeezed"
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert broken_words(page) == []


def test_on_paper_unfolded_rows_of_a_stacked_table_are_stacked_too(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.evaluate(
        """() => {
          const table = document.querySelector('table.stack'), row = table.querySelector('tr:has(td)');
          const more = document.createElement('tr');
          more.className = 'more';
          for (let i = 0; i < 12; i++) more.innerHTML += '<td class="n" data-l="under fault">2 leader-kill</td>';
          row.after(more);
          table.dataset.folded = '';
        }"""
    )
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1000})
    until(page, "innerWidth === 703")
    assert page.locator("table.stack[data-folded] tr.more").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 703


def test_on_paper_names_of_settings_are_whole_beside_long_values(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.evaluate(
        """() => document.querySelectorAll('.grid tbody:not(:has(td:nth-child(3)))').forEach(body => {
          body.innerHTML += '<tr><td class="mono">broker.minInSyncReplicas</td><td class="mono">' +
            'assumptions, final-reads, '.repeat(9) + '</td></tr>';
        })"""
    )
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1000})
    until(page, "innerWidth === 703")
    assert page.locator(".grid").count() > 0
    assert broken_words(page) == []


def test_on_paper_operations_as_recorded_that_were_opened_fit(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.evaluate("document.querySelectorAll('.ops .wide').forEach(table => { table.closest('details').open = true; })")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1000})
    until(page, "innerWidth === 703")
    shown = "[...document.querySelectorAll('.ops .wide')].filter(table => table.checkVisibility())"
    assert page.evaluate(f"{shown}.length") > 0
    assert page.evaluate(f"Math.max(...{shown}.map(table => table.getBoundingClientRect().right))") <= 703
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert broken_words(page) == []
