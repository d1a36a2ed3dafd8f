"""What a browser shows of objects and transactions that were recorded: which node, which fault, and which order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from coordination_histories import write_folder
from pages import until
from recorded_objects import COUNTER, REGISTER, STALE_SET, TRANSACTIONS

from checkers.engine import local_engine
from reports import reporter

Open = Callable[..., Any]
LITERALS = {"register": REGISTER, "set": STALE_SET, "counter": COUNTER, "transactions": TRANSACTIONS}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each kind of run, in which b2 answered wrongly while fault 1 cut it off."""
    root = tmp_path_factory.mktemp("objects")
    for name, literal in LITERALS.items():
        local_engine.judge(write_folder(literal, root / name))
    return {name: reporter.write(root / name)[0] for name in LITERALS}


@pytest.mark.parametrize("kind", LITERALS)
def test_the_clue_and_the_example_name_node_and_fault(open_page: Open, pages: dict[str, Path], kind: str) -> None:
    page = open_page(pages[kind])
    clue = page.inner_text(".facts.clue")
    for part in ("look at b2", "fault 1 partition at 2.0 s", "should be"):
        assert part in clue
    example = page.locator(".example:visible")
    assert "b2, cut off by fault 1 (partition) at 2.0 s, answered" in example.locator("p").first.inner_text()
    facts = example.locator(".facts").first.inner_text()
    assert "node b2" in facts
    assert "fault 1" in facts


@pytest.mark.parametrize("kind", LITERALS)
def test_a_line_leads_to_the_node_that_answered_and_nothing_is_drawn_twice(
    open_page: Open, pages: dict[str, Path], kind: str
) -> None:
    page = open_page(pages[kind])
    scene = page.locator(".example:visible svg.scene")
    guilty = scene.locator(".act.guilty")
    assert guilty.count() == 1
    assert guilty.locator("circle").count() == 1, "a line that leads nowhere has none"
    assert guilty.locator(".lost").count() == 0
    lanes = {text.text_content(): text.bounding_box() for text in scene.locator("text").all()}
    assert {"client 3", "client 4"} & set(lanes)
    dot, lane = guilty.locator("circle").bounding_box(), lanes["b2"]
    assert dot["y"] + dot["height"] / 2 == pytest.approx(lane["y"] + lane["height"] / 2, abs=6)
    drawn = [title.text_content() for title in scene.locator(".act title").all()]
    spans = [title.rsplit(", ", 1)[-1] for title in drawn]
    assert len(spans) == len(set(spans)), f"drawn twice: {drawn}"


@pytest.mark.parametrize("kind", LITERALS)
def test_filters_find_the_example_by_its_node_and_its_fault(open_page: Open, pages: dict[str, Path], kind: str) -> None:
    page = open_page(pages[kind])
    for name, value in (("node", "b2"), ("fault", "1")):
        page.select_option(f"#filter-{name}", value)
        until(page, "document.querySelector('#filters .found').textContent.includes('match')")
        assert "none matches" not in page.text_content("#explorer .count")
    page.select_option("#filter-node", "")
    page.select_option("#filter-fault", "0")
    until(page, "document.querySelector('#explorer .count').textContent.includes('none matches')")


def test_the_card_of_the_operation_says_who_answered(open_page: Open, pages: dict[str, Path]) -> None:
    page = open_page(pages["register"])
    page.click(".example:visible .jump")
    until(page, "document.querySelector('#panels .card').textContent.includes('read k4')")
    card = page.inner_text("#panels .card").replace("\n", " ")
    assert "b2" in card
    assert "unknown" not in card


def test_the_operation_that_fits_no_order_and_the_order_of_the_others_are_told(
    open_page: Open, pages: dict[str, Path]
) -> None:
    said = open_page(pages["register"]).inner_text(".example:visible .order")
    assert said == (
        "Without read k4 -> 1 (b2) these happened in this order: write k4 1 (b1) · write k4 2 (b1). "
        "With it there is none."
    )
