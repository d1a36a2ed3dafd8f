"""Words on the panels: none lies over another, whatever the panels show."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from page_browser import Open
from pages import NARROW, WIDE
from repository import ROOT

OWN = ROOT / "reports/assets/report-labels.js"
BOXES = "document.getElementById('panels').dataset.labels"


@pytest.fixture
def placed(open_page: Open, folders: dict[str, Path]) -> Any:
    """Evaluates an expression over the functions that place labels."""
    page = open_page(folders["empty"] / "report.html")
    own = OWN.read_text()
    return lambda wanted: page.evaluate(f"() => {{ {own}\n return {wanted}; }}")


def test_labels_of_a_column_keep_their_order_and_apart(placed: Any) -> None:
    assert placed("stacked([10, 40, 80], 12, 100)") == [10, 40, 80], "where they belong if there is room"
    assert placed("stacked([10, 12, 80], 12, 100)") == [10, 22, 80]
    assert placed("stacked([12, 10], 12, 100)") == [22, 10], "in their own order"
    assert placed("stacked([90, 95, 99], 12, 100)") == [76, 88, 100], "pushed up from the bottom"
    assert placed("stacked([], 12, 100)") == []


def test_a_label_takes_room_only_beside_those_that_are_there(placed: Any) -> None:
    taken = "(() => { const t = [], s = [[0, 0, 10, 10], [10, 0, 20, 10], [5, 5, 15, 15], [0, 10, 10, 20]];"
    assert placed(taken + " return [s.map(b => takesRoom(t, b)), t.length]; })()") == [[True, True, False, True], 3]


def test_words_are_shortened_to_their_room(placed: Any) -> None:
    width = "w => w.length * 10"
    assert placed(f"shortened('brokers-2', 90, {width})") == "brokers-2"
    assert placed(f"shortened('brokers-2', 50, {width})") == "brok…"
    assert placed(f"shortened('brokers-2', 5, {width})") == ""


@pytest.mark.parametrize("kind", ["invalid", "valid", "unknown"])
def test_no_words_on_the_panels_lie_over_each_other(open_page: Open, folders: dict[str, Path], kind: str) -> None:
    page = open_page(folders[kind] / "report.html")
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        boxes = json.loads(page.evaluate(BOXES))
        assert len(boxes) > 10
        for a, b in combinations(boxes, 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)
