"""The anomalies of a page, one occurrence at a time, and links that lead to what was looked at."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import NARROW, WIDE, broken_words, clipped, overlaps, until

Open = Callable[..., Any]


def shown(page: Any) -> str:
    """The occurrence that is shown, as ``chaos show --around`` calls it."""
    (one,) = page.locator(".example:visible").all()
    return f"{one.get_attribute('data-name')}/{one.get_attribute('data-number')}"


@pytest.fixture
def red(open_page: Open, folders: dict[str, Path]) -> Any:
    return open_page(folders["invalid"] / "report.html")


def test_one_occurrence_is_shown_and_says_all_that_a_reader_asks(red: Any) -> None:
    assert shown(red) == "lost-write/1"
    told = red.inner_text("#anomaly-lost-write")
    for part in (
        "acknowledged 5:233 at 24.3 s",  # which message
        "b1, master of epoch 1",  # which node
        "cut off by fault 1 (leader-partition)",  # which fault
        "what was acknowledged is read back, whatever fails afterwards (rule 6 of docs/semantics.md)",
        "3 of 328 shown",
    ):
        assert part in told


def test_next_and_previous_go_through_all_kinds(red: Any) -> None:
    following, before = red.get_by_role("button", name="next ›"), red.get_by_role("button", name="‹ previous")
    assert before.is_disabled()
    seen = [shown(red)]
    while following.is_enabled():
        following.click()
        seen.append(shown(red))
    assert seen == ["lost-write/1", "lost-write/2", "lost-write/3", "inconsistent-offsets/1", "stale-tail/1"]
    assert red.text_content("#explorer .count") == "5 of 5"
    before.click()
    assert shown(red) == "inconsistent-offsets/1"
    red.select_option("#explorer select", label="lost-write 2")
    assert shown(red) == "lost-write/2"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_step_scrolls_at_once_and_leaves_the_button_where_it_is(
    open_page: Open, folders: dict[str, Path], motion: str
) -> None:
    page = open_page(folders["invalid"] / "report.html", size={"width": 1180, "height": 420}, motion=motion)
    before, clicked, *later = page.evaluate(
        """async () => {
          scrollTo({top: 0, behavior: 'instant'});
          const seen = [scrollY];
          document.querySelector('#explorer .after').click();
          seen.push(scrollY);
          for (let i = 0; i < 30; i++) { await new Promise(requestAnimationFrame); seen.push(scrollY); }
          return seen;
        }"""
    )
    assert clicked > before, "what is shown now was out of sight"
    assert set(later) == {clicked}
    following = page.get_by_role("button", name="next ›")
    places = [following.bounding_box()]
    while following.is_enabled():
        following.click()
        places.append(following.bounding_box())
    assert len(places) == 4
    assert places == places[:1] * 4


def test_what_an_anchor_leads_to_is_shown(red: Any) -> None:
    red.click("a[href='#anomaly-stale-tail']")
    assert shown(red) == "stale-tail/1"
    red.click("a[href='#example-lost-write-1']")
    assert shown(red) == "lost-write/1"


def test_the_drawing_leads_from_clients_to_the_nodes_that_answered(red: Any) -> None:
    scene = red.locator(".example:visible svg.scene")
    words = scene.locator("text").all_text_contents()
    for part in ("client 5", "client 3", "b1", "b2", "fault 1 leader-partition", "master, epoch 1, superseded"):
        assert part in words, f"{part} is not in {words}"
    assert "Clients and nodes from" in scene.get_attribute("aria-label")
    sends = [scene.locator(f".act.guilty:has(title:text('{value} →'))") for value in ("5:233", "3:871")]
    lanes = {text.text_content(): text.bounding_box() for text in scene.locator("text").all()}
    for one, (client, node) in zip(sends, (("client 5", "b1"), ("client 3", "b2")), strict=True):
        bar, dot = one.locator("rect").bounding_box(), one.locator("circle").bounding_box()
        for box, lane in ((bar, client), (dot, node)):
            middle = lanes[lane]["y"] + lanes[lane]["height"] / 2
            assert box["y"] + box["height"] / 2 == pytest.approx(middle, abs=6), f"not on the line of {lane}"
    listed = red.locator(".example:visible .steps li:has(b:text-matches('[0-9]'))").count()
    assert 2 <= scene.locator(".number").count() < listed, "the final read is too late for the drawing"


def test_the_drawing_can_be_made_wider_and_closer_by_keys_alone(red: Any) -> None:
    first = red.text_content(".example:visible .around .hint")
    red.locator(".example:visible .tools button").first.focus()
    red.keyboard.press("Enter")
    wider = red.text_content(".example:visible .around .hint")
    assert wider != first
    assert red.evaluate("document.activeElement.textContent") == "wider"
    red.keyboard.press("Tab")
    red.keyboard.press("Enter")
    red.keyboard.press("Enter")
    assert red.text_content(".example:visible .around .hint") not in (wider, first)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["phone", "wide"])
def test_words_of_the_drawing_keep_apart_and_nothing_is_cut_off(
    open_page: Open, folders: dict[str, Path], size: dict[str, int]
) -> None:
    page = open_page(folders["invalid"] / "report.html", size=size)
    for _ in range(5):
        assert overlaps(page, ".example:not([hidden]) svg.scene text") == []
        assert clipped(page, ".example:not([hidden]) svg.scene text", "main") == []
        assert broken_words(page) == []
        if page.locator("#explorer .after").is_enabled():
            page.click("#explorer .after")


def test_lines_of_node_logs_stand_before_and_behind_the_moment(red: Any) -> None:
    red.click(".example:visible details.beside summary")
    until(red, "document.querySelectorAll('.example:not([hidden]) .loglines tr').length > 1")
    rows = red.locator(".example:visible .loglines tr").all_text_contents()[1:]
    assert rows == [
        "20.500 sb1WARN Master - cut off <script>alert('log')</script> ",
        "22.600 sc1c1 b2 is master of epoch 2",
        "24.302 slost-write 1",
    ]
    red.click("#faults + div details.beside >> nth=0")
    until(red, "document.querySelectorAll('#faults + div details.beside[open] tr.here').length > 1")
    rows = red.locator("#faults + div details.beside >> nth=0").locator("tr.here").all_text_contents()
    assert rows == ["20.000 sfault 1 begins", "40.000 sfault 1 ends"]


def test_the_command_that_prints_the_history_can_be_copied(red: Any, folders: dict[str, Path]) -> None:
    red.context.grant_permissions(["clipboard-read", "clipboard-write"])
    red.evaluate(
        """() => {
          const button = document.querySelector('.example:not([hidden]) .copy'), seen = [];
          new MutationObserver(() => { seen.push(button.textContent); button.dataset.seen = seen; })
            .observe(button, {childList: true});
        }"""
    )
    red.click(".example:visible .cmds .copy")
    until(red, "document.querySelector('.example:not([hidden]) .copy').dataset.seen?.startsWith('copied')")
    copied = red.evaluate("navigator.clipboard.readText()")
    assert copied == f"chaos show {folders['invalid']} --around lost-write/1 --context 20"


def test_a_link_leads_to_the_same_zoom_filter_and_selection(
    red: Any, open_page: Open, folders: dict[str, Path]
) -> None:
    assert red.evaluate("location.hash") == ""
    red.focus("#panels")
    red.keyboard.press("a")
    until(red, "document.getElementById('panels').dataset.to < 50")
    for name in ("unknown outcome", "poll", "UTC"):
        red.get_by_role("button", name=name, exact=True).click()
    red.select_option("#explorer select", label="stale-tail 1")
    until(red, "location.hash.includes('stale-tail') && location.hash.includes('utc')")
    link = red.evaluate("location.hash")
    other = open_page(folders["invalid"] / "report.html", at=link)
    assert shown(other) == "stale-tail/1"
    for attribute in ("from", "to"):
        read = f"+(+document.getElementById('panels').dataset.{attribute}).toFixed(2)"
        assert other.evaluate(read) == red.evaluate(read)
    for name in ("unknown outcome", "poll"):
        assert other.get_by_role("button", name=name, exact=True).get_attribute("aria-pressed") == "false"
    assert other.get_by_role("button", name="UTC", exact=True).get_attribute("aria-pressed") == "true"
    assert other.get_by_role("button", name="ok", exact=True).get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize(
    "hostile", ["#at=-9-x&anomaly=%", "#anomaly=<img src=x>/1&without=%00", "#operation=1e9&at=5-2"]
)
def test_a_link_that_makes_no_sense_shows_everything(open_page: Open, folders: dict[str, Path], hostile: str) -> None:
    page = open_page(folders["invalid"] / "report.html", at=hostile)
    assert shown(page) == "lost-write/1"
    assert page.evaluate("+document.getElementById('panels').dataset.from") == 0


def test_keys_on_the_panels_choose_the_occurrence_too(red: Any) -> None:
    red.focus("#panels")
    red.keyboard.press("A")
    assert shown(red) == "lost-write/3"
    red.keyboard.press("A")
    assert shown(red) == "lost-write/2"


def test_on_paper_the_first_example_of_each_kind_is_there(red: Any) -> None:
    red.click("#explorer .after")
    red.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    kinds = {one.get_attribute("data-name") for one in red.locator(".example:visible").all()}
    assert kinds == {"lost-write", "inconsistent-offsets", "stale-tail"}
    red.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert shown(red) == "lost-write/2"


def test_a_page_without_anomalies_has_no_explorer(open_page: Open, folders: dict[str, Path]) -> None:
    assert not open_page(folders["empty"] / "report.html").locator("#explorer").is_visible()
