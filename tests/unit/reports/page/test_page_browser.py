"""The page in a real browser: no error, no request, panels that show something, and hands on it.

Every page is opened from its file. Nothing here is timed; what must come is awaited under the driver's
own deadline.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import synthetic
from page_browser import READOUT, Open, at, colours, panels, show_panels, window
from pages import NARROW, WIDE, until


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_every_page_opens_quietly_and_fits(open_page: Open, folders: dict[str, Path], kind: str) -> None:
    page = open_page(folders[kind] / "report.html")
    assert page.locator(".stamp").is_visible()
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        until(page, f"innerWidth === {size['width']} && document.documentElement.scrollWidth <= innerWidth")


LIGHT = {
    "ok": "59,156,240",
    "failed": "230,23,127",
    "unknown": "242,154,0",
    "leads": "140,197,247",
    "superseded": "248,207,133",
    "b1": "217,72,15",
    "unread": "11,114,133",
    "error": "196,20,92",
}
DARK = {
    "ok": "94,179,255",
    "failed": "255,79,163",
    "unknown": "255,176,46",
    "leads": "47,110,168",
    "superseded": "125,90,20",
    "b1": "255,138,80",
    "unread": "59,201,219",
    "error": "255,95,158",
}


WANTED = (
    ("anomalies", "error", 30),
    ("role", "leads", 9000),
    ("role", "superseded", 900),
    ("latency", "ok", 1000),
    ("latency", "failed", 100),
    ("latency", "unknown", 50),
    ("operations/s", "ok", 9000),
    ("operations/s", "failed", 300),
    ("operations/s", "unknown", 200),
    ("errors/s", "b1", 300),
    ("answers/s", "ok", 4000),
    ("offset lag", "b1", 250),
    ("acked, unread", "unread", 300),
)
"""At least so many pixels of the colour in the panel: a legend's sample does not pass for the thing itself."""


def like(counted: dict[str, int], hue: str) -> int:
    """Pixels whose colour is near ``hue``: edges are smoothed, and points are a little transparent."""
    want = [int(part) for part in hue.split(",")]
    return sum(
        count
        for colour, count in counted.items()
        if colour != "none" and max(abs(int(c) - w) for c, w in zip(colour.split(","), want, strict=True)) <= 60
    )


@pytest.mark.parametrize(("scheme", "hues"), [("light", LIGHT), ("dark", DARK)])
def test_no_panel_is_blank(open_page: Open, folders: dict[str, Path], scheme: str, hues: dict[str, str]) -> None:
    page = open_page(folders["invalid"] / "report.html", scheme=scheme)
    shown = panels(page)
    assert list(shown) == [
        "fault",
        "anomalies",
        "phase",
        "role",
        "latency",
        "operations/s",
        "errors/s",
        "answers/s",
        "offset lag",
        "acked, unread",
        "",
    ]
    seen = {label: colours(page, label) for label in shown if label}
    for label, counted in seen.items():
        assert len(counted) >= 3, f"{label} shows nothing: {counted}"
    few = {}
    for label, hue, least in WANTED:
        count = like(seen[label], hues[hue])
        if count < least:
            few[label, hue] = count
    assert few == {}


def test_a_run_without_operations_has_no_empty_panels(open_page: Open, folders: dict[str, Path]) -> None:
    assert list(panels(open_page(folders["empty"] / "report.html"))) == ["fault", "phase", ""]
    assert "latency" not in panels(open_page(folders["crashed"] / "report.html"))


def test_one_cursor_through_all_panels(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    box = show_panels(page)
    page.mouse.move(at(page, 30.0), box["y"] + 300)
    until(page, f"{READOUT} !== ''")
    said = page.text_content("#readout")
    for part in (
        "30.0",
        "1 leader-partition: b1",
        "master, epoch 1, superseded",
        "master, epoch 2",
        "p50",
        "ok ",
        "b1 +1304   b2 0   b3 0",
        "unread",
    ):
        assert part in said, f"{part} missing in: {said}"
    assert page.locator("#panels .tip:visible").count() >= 6
    page.mouse.move(box["x"] + 400, box["y"] - 30)
    until(page, f"{READOUT} === ''")


def test_brush_zooms_and_double_click_shows_everything(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    box, whole = show_panels(page), window(page)
    y = box["y"] + 250
    page.mouse.move(at(page, 18.0), y)
    page.mouse.down()
    page.mouse.move(at(page, 30.0), y, steps=4)
    page.wait_for_selector("#panels .brush", state="visible")
    page.mouse.up()
    until(page, "document.getElementById('panels').dataset.to < 40")
    start, end = window(page)
    assert (start, end) == (pytest.approx(18.0, abs=0.3), pytest.approx(30.0, abs=0.3))
    assert "show everything" in page.text_content(".reset")
    page.mouse.dblclick(box["x"] + 500, y)
    until(page, f"+document.getElementById('panels').dataset.to === {whole[1]}")
    assert window(page) == whole
    assert not page.locator(".reset").is_visible()


def test_keys_move_zoom_and_find_the_next_error(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    show_panels(page)
    page.focus("#panels")
    page.keyboard.press("ArrowRight")
    first = page.text_content("#readout")
    page.keyboard.press("ArrowRight")
    assert first
    assert page.text_content("#readout") != first
    whole = window(page)
    page.keyboard.press("+")
    until(page, f"document.getElementById('panels').dataset.to < {whole[1]}")
    page.keyboard.press("Escape")
    until(page, f"+document.getElementById('panels').dataset.to === {whole[1]}")
    page.keyboard.press("n")
    card = page.text_content("#panels .card")
    assert "failed for certain" in card or "unknown outcome" in card
    page.keyboard.press("n")
    assert page.text_content("#panels .card") != card
    page.keyboard.press("p")
    assert page.text_content("#panels .card") == card


def test_a_click_on_a_point_tells_its_operation(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.focus("#panels")
    box = show_panels(page)
    page.keyboard.press("n")
    told = page.text_content("#panels .card")
    place = page.eval_on_selector("#panels .ring", "ring => [parseFloat(ring.style.left), parseFloat(ring.style.top)]")
    page.keyboard.press("Escape")
    until(page, "document.querySelector('#panels .card').style.display === 'none'")
    page.mouse.click(box["x"] + place[0], box["y"] + place[1])
    assert page.locator("#panels .card").is_visible()
    assert page.text_content("#panels .card") == told
    for part in ("operation", "outcome", "latency", "client", "node", "1 leader-partition"):
        assert part in told


def test_the_legend_hides_and_shows_outcomes(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    drawn = "+document.getElementById('panels').dataset.drawn"
    blue = "59,156,240"
    before, count = colours(page, "operations/s")[blue], page.evaluate(drawn)
    button = page.get_by_role("button", name="ok", exact=True)
    button.click()
    until(page, f"{drawn} > {count}")
    assert button.get_attribute("aria-pressed") == "false"
    assert colours(page, "operations/s").get(blue, 0) < before / 10
    count = page.evaluate(drawn)
    button.click()
    until(page, f"{drawn} > {count}")
    assert colours(page, "operations/s")[blue] == before


def test_a_fault_and_an_anomaly_lead_to_their_place_on_the_axis(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.click("#faults + div .jump >> nth=1")
    until(page, "document.getElementById('panels').dataset.to < 100")
    start, end = window(page)
    assert start < 60.0
    assert end > 80.0
    page.click(".anom .jump >> nth=0")
    until(page, "document.getElementById('panels').dataset.to < 50")
    start, end = window(page)
    assert start < 20.0, "the fault that the sentence names is in view from its injection"
    assert end > 40.7, "to its healing"
    assert_ringed(page, 24.302)


def assert_ringed(page: Any, seconds: float) -> None:
    """An operation is ringed at that moment, and told in words."""
    ring = page.locator("#panels .ring")
    assert ring.is_visible()
    place = ring.bounding_box()
    assert place["x"] + place["width"] / 2 == pytest.approx(at(page, seconds), abs=2)
    assert page.locator("#panels .card").is_visible()
    assert page.text_content("#readout") != ""


def test_the_card_tells_an_operation_in_words_and_leads_to_its_anomaly(
    open_page: Open, folders: dict[str, Path]
) -> None:
    page = open_page(folders["invalid"] / "report.html")
    page.click(".anom .jump >> nth=0")
    until(page, "document.getElementById('panels').dataset.to < 50 && location.hash.includes('at=')")
    told = page.text_content("#panels .card")
    for part in ("operationsend 5:233 → 1204", "queue2", "outcomeok", "nodeb1", "1 leader-partition", "lost-write"):
        assert part in told, f"{part} missing in: {told}"
    page.click("#panels .card a")
    until(page, "location.hash === '#anomaly-lost-write'")


def test_keys_go_from_anomaly_to_anomaly(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    show_panels(page)
    page.focus("#panels")
    whole = window(page)
    page.keyboard.press("a")
    until(page, f"+document.getElementById('panels').dataset.to < {whole[1]}")
    assert_ringed(page, 24.302)
    assert "lost-write" in page.text_content("#panels .card")
    page.keyboard.press("Escape")
    until(page, f"+document.getElementById('panels').dataset.to === {whole[1]}")
    page.keyboard.press("A")
    until(page, f"+document.getElementById('panels').dataset.to < {whole[1]}")
    assert_ringed(page, 24.302)


def test_a_mark_on_the_overview_leads_to_its_operation(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    box = show_panels(page)
    top, height = panels(page)["anomalies"]
    page.mouse.click(at(page, 24.302), box["y"] + top + height / 2)
    until(page, "document.getElementById('panels').dataset.to < 50")
    assert_ringed(page, 24.302)


def test_the_clock_of_the_page_is_run_seconds_or_utc(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["invalid"] / "report.html")
    first, tick = "#faults + div .jump >> nth=0", "svg.trace text[data-s] >> nth=0"
    seconds = page.text_content(tick)
    assert page.text_content(first) == "20.0 s"
    utc = page.get_by_role("button", name="UTC", exact=True)
    utc.focus()
    page.keyboard.press("Enter")
    assert utc.get_attribute("aria-pressed") == "true"
    assert page.text_content(first) == "07:15:20.0"
    assert page.text_content(tick).startswith("07:15:2")
    assert "2026-11-21 07:15:00.000 UTC" in page.text_content("#clock")
    page.focus("#panels")
    page.keyboard.press("n")
    assert "at07:15:2" in page.text_content("#panels .card")
    page.get_by_role("button", name="run seconds").click()
    assert (page.text_content(first), page.text_content(tick)) == ("20.0 s", seconds)


def test_node_logs_are_on_the_clock_of_the_page_and_follow_its_stretch(
    open_page: Open, folders: dict[str, Path]
) -> None:
    page = open_page(folders["invalid"] / "report.html")
    assert "2 of 3 lines" in page.text_content("#logs + p")
    page.click("#loglist summary")
    until(page, "document.querySelectorAll('#loglist tr').length === 3")  # the list is filled when it is opened
    rows = page.locator("#loglist tr")
    assert rows.all_text_contents()[1:] == [
        "20.500 sb1WARN Master - cut off <script>alert('log')</script> ",
        "22.600 sc1c1 b2 is master of epoch 2",
    ]
    page.get_by_role("button", name="UTC", exact=True).click()
    assert "07:15:22.600c1" in rows.nth(2).text_content()
    page.get_by_role("button", name="c1", exact=True).click()
    until(page, "document.querySelectorAll('#loglist tr').length === 2")
    page.get_by_role("button", name="c1", exact=True).click()
    page.click("#faults + div .jump >> nth=1")
    until(page, "document.getElementById('panels').dataset.to < 100")
    assert rows.count() == 1, "no line is of the second fault's time"
    page.keyboard.press("Escape")
    page.click("#loglist tr:nth-child(3) button")
    assert page.evaluate("document.activeElement.id") == "panels"
    assert "07:15:22.600" in page.text_content("#readout")


def medians(page: Any) -> list[float | None]:
    """The p50 of each bin, as drawn last over the whole run."""
    drawn: list[float | None] = json.loads(page.get_attribute("#panels", "data-p50"))
    return drawn


def test_refusals_by_design_are_shown_when_asked_for(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["valid"] / "report.html")
    button = page.get_by_role("button", name="refused by design", exact=True)
    assert button.get_attribute("aria-pressed") == "false"
    drawn = "+document.getElementById('panels').dataset.drawn"
    hidden, count = colours(page, "operations/s"), page.evaluate(drawn)
    button.click()
    until(page, f"{drawn} > {count}")
    assert button.get_attribute("aria-pressed") == "true"
    assert colours(page, "operations/s") != hidden, "they are drawn now"


def test_quantiles_are_of_what_is_shown(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["valid"] / "report.html")
    every = medians(page)
    assert sum(value is not None for value in every) > 100
    for name in ("ok", "unknown outcome", "not sent"):
        for button in page.get_by_role("button", name=name, exact=True).all():
            button.click()
    until(page, "JSON.parse(document.getElementById('panels').dataset.p50).filter(v => v != null).length < 60")
    failed = medians(page)
    assert any(value is not None for value in failed), "what failed was answered during the outages"
    page.get_by_role("button", name="failed for certain", exact=True).click()
    until(page, "JSON.parse(document.getElementById('panels').dataset.p50).every(v => v == null)")


def test_the_next_operation_that_was_not_ok_is_no_refusal_by_design(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["valid"] / "report.html")
    page.get_by_role("button", name="refused by design", exact=True).click()
    page.locator("#panels").focus()
    for _ in range(40):
        page.keyboard.press("n")
        assert "refused by design" not in page.text_content("#readout")


@pytest.mark.parametrize("kind", synthetic.KINDS)
def test_every_column_says_what_it_is(open_page: Open, folders: dict[str, Path], kind: str) -> None:
    page = open_page(folders[kind] / "report.html")
    for section in ("verdict", "faults", "service", "errors", "operations"):
        for table in page.locator(f"section[aria-labelledby={section}] > .scroll > table:has(a.q)").all():
            heads = table.locator("tr").first.locator("th")
            assert heads.count() == heads.locator("a.q").count() > 0
    for link in page.locator("a.q").all():
        assert page.locator(f"[id='{link.get_attribute('href')[1:]}']").count() == 1, "what it leads to is there once"


def test_a_question_mark_opens_what_the_column_says(open_page: Open, folders: dict[str, Path]) -> None:
    page = open_page(folders["valid"] / "report.html")
    link = page.get_by_role("link", name="What does RTO mean?")
    link.focus()
    page.keyboard.press("Enter")
    said = page.locator("details.whys[open] dd").all_text_contents()
    assert any("three in a row" in text for text in said)
