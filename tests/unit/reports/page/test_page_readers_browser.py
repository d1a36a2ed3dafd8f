"""Every kind of page for every reader: widths of windows, light, dark, paper, keys alone, and what axe-core finds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic
from axe_playwright_python.sync_playwright import Axe
from coordination_histories import write_folder
from pages import broken_words, clipped, cut_off, overlaps, until
from recorded_objects import REGISTER

from checkers.engine import local_engine
from reports import reporter
from reports.folder import read_parts
from reports.page.build import report_data
from reports.page.html import page as page_of

Open = Callable[..., Any]
PAGES = (*synthetic.KINDS, "register", "million")
SIZES = ({"width": 390, "height": 800}, {"width": 768, "height": 1024}, {"width": 1400, "height": 900})
CLOSE = "#at=24.2-24.4"
"""A short stretch, so that the list of operations is short as well."""
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\"'`{{7*7}}"


def register(folder: Path) -> str:
    """The page of a recorded run on registers with a stale read under a fault, and hostile values everywhere."""
    ops = [{**op, "info": HOSTILE} if "info" in op else op for op in REGISTER["ops"]]
    other = {**REGISTER["ops"][0], "key": 5, "at": [1.1, 1.15]}  # with one register alone nothing is to be chosen
    write_folder({**REGISTER, "ops": [*ops, other]}, folder)
    local_engine.judge(folder)
    parts = read_parts(folder)
    assert parts.results is not None
    found = parts.results.anomalies["nonlinearizable"]
    (example,) = found.examples
    guilty = {**example.ops[0], "what": f"{example.ops[0]['what']} {HOSTILE}"}
    hostile = msgspec.structs.replace(example, sentence=f"{example.sentence} {HOSTILE}", ops=(guilty, *example.ops[1:]))
    anomalies = {"nonlinearizable": msgspec.structs.replace(found, examples=(hostile,))}
    run = msgspec.structs.replace(parts.run, workload=HOSTILE, settings={HOSTILE: HOSTILE})
    results = msgspec.structs.replace(parts.results, anomalies=anomalies)
    return page_of(report_data(msgspec.structs.replace(parts, run=run, results=results)))


@pytest.fixture(scope="module")
def pages(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The file of each kind of page."""
    root = tmp_path_factory.mktemp("pages")
    (root / "register.html").write_text(register(root / "register"))
    million = reporter.write(synthetic.write(root / "million", "invalid", points=125_000))[0]
    own = {kind: folders[kind] / "report.html" for kind in synthetic.KINDS}
    return {**own, "register": root / "register.html", "million": million}


FILLED = """[['#oplist', 'table'], ['#loglist', 'table'], ['details.beside', '.loglines']].every(([folded, inside]) =>
  [...document.querySelectorAll(folded)].every(e => !e.checkVisibility() || e.querySelector(inside)))"""


UNSEEN_COLUMNS = """[...document.querySelectorAll('.scroll:has(> .faults)')].filter(
  e => e.scrollWidth > e.clientWidth + 1).length"""
"""Tables of faults of which a reader has to scroll to see what was lost."""


def unfold(page: Any) -> None:
    """Open all that is folded and wait until what is made when it is opened is there."""
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    until(page, FILLED)


@pytest.mark.parametrize("kind", PAGES)
def test_nothing_is_cut_off_broken_or_on_top_of_something_else(
    open_page: Open, pages: dict[str, Path], kind: str
) -> None:
    for size in SIZES:
        page = open_page(pages[kind], size=size)
        for opened in (False, True):
            if opened:
                unfold(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
            assert cut_off(page) == []
            assert broken_words(page) == []
            assert overlaps(page, ".example:not([hidden]) svg.scene text") == []
            assert clipped(page, ".example:not([hidden]) svg.trace text", "svg") == []
        assert page.evaluate(UNSEEN_COLUMNS) == 0


@pytest.mark.parametrize("kind", PAGES)
def test_on_paper_nothing_is_cut_off(open_page: Open, pages: dict[str, Path], kind: str) -> None:
    page = open_page(pages[kind], scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 703, "height": 1000})
    until(page, "document.querySelector('#panels canvas').clientWidth <= 703")
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert cut_off(page) == []
    assert broken_words(page) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4", print_background=True)) > 10_000


def axe_finds_nothing(page: Any) -> None:
    unfold(page)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []


AXE = [kind for kind in PAGES if kind not in {"interrupted", "million"}]


@pytest.mark.parametrize("kind", AXE)
def test_axe_finds_nothing(open_page: Open, pages: dict[str, Path], kind: str) -> None:
    axe_finds_nothing(open_page(pages[kind], scheme="light", size=SIZES[2], at=CLOSE))


@pytest.mark.longer
@pytest.mark.parametrize(("scheme", "size"), [("dark", SIZES[0]), ("light", SIZES[1])], ids=["phone", "tablet"])
@pytest.mark.parametrize("kind", AXE)
def test_axe_finds_nothing_on_smaller_screens(
    open_page: Open, pages: dict[str, Path], kind: str, scheme: str, size: dict[str, int]
) -> None:
    axe_finds_nothing(open_page(pages[kind], scheme=scheme, size=size, at=CLOSE))


@pytest.mark.longer
@pytest.mark.parametrize(("scheme", "size"), [("light", SIZES[2]), ("dark", SIZES[0])], ids=["wide", "phone"])
def test_axe_finds_nothing_among_a_million_operations(
    open_page: Open, pages: dict[str, Path], scheme: str, size: dict[str, int]
) -> None:
    axe_finds_nothing(open_page(pages["million"], scheme=scheme, size=size, at=CLOSE))


@pytest.mark.parametrize("kind", ["invalid", "crashed", "register"])
def test_keys_alone_reach_all_that_can_be_used(open_page: Open, pages: dict[str, Path], kind: str) -> None:
    page = open_page(pages[kind], size=SIZES[2], at=CLOSE)
    unfold(page)
    usable = """[...document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]')]
      .filter(e => e.checkVisibility() && !e.disabled)"""
    wanted = page.evaluate(f"{usable}.map((e, i) => {{ e.dataset.place = i; return i; }}).length")
    reached = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement?.dataset.place"))
    left = page.evaluate(f"{usable}.map(e => [e.dataset.place, e.outerHTML.slice(0, 90)])")
    assert [html for place, html in left if place not in reached] == []


def test_hostile_values_are_shown_as_they_are_and_do_nothing(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["register"])
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    unfold(page)
    assert HOSTILE in page.text_content(".example:visible p")
    assert HOSTILE in page.locator("#filter-error option").nth(1).get_attribute("value")
    page.select_option("#filter-error", HOSTILE)
    page.fill("#filter-words", HOSTILE)
    page.click("#explorer .link")
    until(page, "location.hash.includes('error=')")
    assert page.locator("img, main script").count() == 0
    other = open_page(pages["register"], at=page.evaluate("location.hash"))
    assert other.input_value("#filter-words") == HOSTILE
    assert other.locator("img, main script").count() == 0


def test_an_object_is_told_with_its_own_words(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["register"])
    told = page.inner_text("#anomaly-nonlinearizable")
    for part in (
        "write k4 2",
        "read k4 -> 1",
        "every operation takes effect at one moment",
        "docs/reference/models.md",
    ):
        assert part in told
    assert page.locator("#filter-key").evaluate("e => e.closest('label').textContent").startswith("register")
