"""The row of faults on the time axis: bands that are short, many, or at the same time, in narrow and wide windows."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from pages import until

from chaos.core.clock import NS_PER_S
from reports.folder import read_parts
from reports.page.build import report_data
from reports.page.html import page as page_of

Open = Callable[..., Any]
WIDTHS = (390, 768, 1400)
NAMES = ("leader-partition", "random-stop@broker", "all-partition@controller", "leader-kill")
SHORT = tuple((4.0 + 6.5 * i, 4.5 + 6.5 * i) for i in range(17))
ALIKE = ((10.0, 20.0), (18.5, 26.5), (18.6, 19.0), (87.5, 97.5), (97.9, 99.9), (100.1, 108.1), (112.2, 114.2))
LAST = ((20.0, 30.0), (110.0, 119.0), (119.5, 119.9), (119.8, 120.0))


class Label(NamedTuple):
    """What a fault's band says: where its words begin and end, and the band itself, pixels; ``row`` from 0."""

    id: int
    words: str
    left: float
    right: float
    row: int
    begins: float
    ends: float


def page_with(folder: Path, spans: Sequence[tuple[float, float]]) -> str:
    """The page of a run under faults that last from when to when, seconds of the load."""
    parts = read_parts(folder)
    assert parts.results is not None
    pattern, origin = parts.results.faults[1], parts.run.origin_ns
    faults = [
        msgspec.structs.replace(
            pattern,
            id=number,
            name=NAMES[number % len(NAMES)],
            inject_ns=origin + round(start * NS_PER_S),
            heal_ns=origin + round(end * NS_PER_S),
            healed_ns=origin + round((end + 0.1) * NS_PER_S),
        )
        for number, (start, end) in enumerate(spans, 1)
    ]
    results = msgspec.structs.replace(parts.results, faults=tuple(faults))
    return page_of(report_data(msgspec.structs.replace(parts, results=results)))


def labels(page: Any) -> list[Label]:
    return [Label(*row) for row in json.loads(page.get_attribute("#panels", "data-faults"))]


@pytest.mark.parametrize("spans", [SHORT, ALIKE, LAST], ids=["short", "alike", "last"])
def test_every_fault_is_named_apart_from_others_and_within_the_drawing(
    open_page: Open, folders: dict[str, Path], tmp_path: Path, spans: Sequence[tuple[float, float]]
) -> None:
    (tmp_path / "report.html").write_text(page_with(folders["invalid"], spans))
    for width in WIDTHS:
        page = open_page(tmp_path / "report.html", size={"width": width, "height": 900})
        shown = labels(page)
        right = float(page.get_attribute("#panels", "data-width"))
        assert [one.id for one in shown] == list(range(1, len(spans) + 1)), f"a fault has no number at {width}"
        for one in shown:
            assert one.right <= right, f"{one} leaves the drawing at {width}"
            assert one.words.split()[0] == str(one.id)
            beside = [other for other in shown if other is not one and other.row == one.row]
            for other in beside:
                assert min(one.right, other.right) <= max(one.left, other.left), f"{one} on {other} at {width}"
            if one.words != str(one.id):
                met = [other for other in shown if one.ends < other.begins < one.right]
                assert met == [], f"{one} runs on under {met} at {width}"


def test_a_band_with_room_has_its_name_and_when_zoomed_others_have_theirs(
    open_page: Open, folders: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text(page_with(folders["invalid"], ALIKE))
    page = open_page(tmp_path / "report.html", size={"width": 1400, "height": 900})
    whole = {one.id: one.words for one in labels(page)}
    assert whole[1] == "1 random-stop@broker"
    assert whole[7] == "7 leader-kill", "beside its band, where nothing else is"
    assert whole[5] == "5"
    page.evaluate("document.querySelector('[data-from=\"97.9\"]').click()")
    until(page, "+document.getElementById('panels').dataset.from > 90")
    assert {one.id: one.words for one in labels(page)}[5] == "5 random-stop@broker"
