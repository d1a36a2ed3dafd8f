"""Every kind of page for every reader: widths of windows, light, dark, paper, keys alone, and what axe-core finds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import synthetic
from axe_playwright_python.sync_playwright import Axe
from pages import broken_words, clipped, cut_off, overlaps, until

from chaos.core.verdict import Anomaly, Example
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
    """The page of a run on registers in which one read fits no order, with hostile values everywhere."""
    parts = read_parts(synthetic.write(folder, "invalid"))
    assert parts.results is not None
    assert parts.series is not None
    run = msgspec.structs.replace(
        parts.run,
        model="register",
        words={"read": 1, "write": 2, "cas": 3},
        mix={"read": 1.0, "write": 1.0, "cas": 0.5},
        workload=HOSTILE,
        settings={HOSTILE: HOSTILE},
    )
    common = {"type": "ok", "client": 3, "process": 3, "key": 4, "node": "b1"}
    ops: tuple[dict[str, Any], ...] = (
        {
            **common,
            "f": "read",
            "what": f"read k4 -> {HOSTILE}",
            "invoke_s": 30.01,
            "complete_s": 30.02,
            "guilty": True,
        },
        {
            **common,
            "f": "write",
            "what": "write k4 2",
            "invoke_s": 29.9,
            "complete_s": 29.95,
            "client": 1,
            "process": 9,
        },
        {
            **common,
            "f": "cas",
            "what": "cas k4 2->7",
            "invoke_s": 29.97,
            "complete_s": None,
            "type": "info",
            "node": None,
        },
    )
    example = Example(sentence=f"a read of register 4 returned {HOSTILE}", key=4, node="b1", fault=1, ops=ops)
    results = msgspec.structs.replace(
        parts.results, anomalies={"nonlinearizable": Anomaly(count=1, allowed=False, examples=(example,))}
    )
    points = msgspec.structs.replace(
        parts.series.points, f=[1 + f % 3 for f in parts.series.points.f], errors=[HOSTILE, f"{HOSTILE} again"]
    )
    rate = dict(zip(("read", "write", "cas"), parts.series.rate.values(), strict=False))
    latencies = dict(zip(("read", "write", "cas"), parts.series.latencies.values(), strict=False))
    errors = {HOSTILE: next(iter(parts.series.errors.values()))}
    series = msgspec.structs.replace(parts.series, rate=rate, latencies=latencies, points=points, errors=errors)
    return page_of(report_data(msgspec.structs.replace(parts, run=run, results=results, series=series)))


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


@pytest.mark.parametrize(
    ("scheme", "size"), [("light", SIZES[2]), ("dark", SIZES[0]), ("light", SIZES[1])], ids=["wide", "phone", "tablet"]
)
@pytest.mark.parametrize("kind", [kind for kind in PAGES if kind != "interrupted"])
def test_axe_finds_nothing(
    open_page: Open, pages: dict[str, Path], kind: str, scheme: str, size: dict[str, int]
) -> None:
    page = open_page(pages[kind], scheme=scheme, size=size, at=CLOSE)
    unfold(page)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found] == []


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
    for part in ("write k4 2", "cas k4 2->7", "every operation takes effect at one moment", "docs/reference/models.md"):
        assert part in told
    assert page.locator("#filter-key").evaluate("e => e.closest('label').textContent").startswith("register")
