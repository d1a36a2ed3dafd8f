"""The lines of nodes' logs that stand beside an occurrence: which, in which order, and what they are near to."""

import itertools

import msgspec
import synthetic

from reports.node_logs import LogFile, LogLine
from reports.page.html import allow_breaks, page
from reports.page.log_clues import ALIKE, MOST, log_clues
from reports.page.logs import LogRow, logs_of
from reports.page.model import ReportData
from reports.page.panels import Band

NAMES = ("b1", "b2", "c1")
CUT = Band(id=3, name="cut", colour="red", start=20.0, end=30.0, healed=31.0, targets=("b1",), proven=True)


def texts(rows: list[LogRow], at: float = 24.0) -> list[str]:
    return [one.text for one in log_clues(rows, NAMES, at, [CUT], ["b1"])]


def test_warnings_are_chosen_before_nearer_lines_and_told_in_order_of_time() -> None:
    calm = [LogRow(24.0 + step / 100, 0, f"calm {'x' * step}") for step in range(9)]
    found = log_clues([*calm, LogRow(23.0, 0, "ERROR lost contact")], NAMES, 24.0, [CUT], ["b1"])
    assert len(found) == MOST
    assert found[0].text == "ERROR lost contact"
    assert [one.notable for one in found] == [True, *[False] * (MOST - 1)]
    assert all(one.at <= two.at for one, two in itertools.pairwise(found))


def test_lines_are_told_by_what_they_are_nearest_to() -> None:
    rows = [LogRow(19.9, 0, "a"), LogRow(20.0, 1, "b"), LogRow(24.0, 0, "c"), LogRow(30.5, 0, "d")]
    said = [one.near for one in log_clues(rows, NAMES, 24.0, [CUT], ["b1"])]
    assert said == ["100 ms before fault 3 begins", "as fault 3 begins", "at its moment", "500 ms after fault 3 ends"]


def test_of_lines_that_differ_in_numbers_alone_few_are_told() -> None:
    rows = [LogRow(24.0 + n / 1000, 0, f"retry {n}") for n in range(50)]
    assert len(texts([*rows, LogRow(25.0, 1, "another")])) == ALIKE + 1


def test_a_node_that_has_no_part_stands_behind_one_that_has() -> None:
    own = [LogRow(26.0, 0, f"own {'x' * n}") for n in range(MOST)]
    other = [LogRow(24.0, 2, f"ERROR other {'x' * n}") for n in range(MOST)]
    assert not any(text.startswith("own") for text in texts(other)), "it is told where nothing else is"
    assert all(text.startswith("own") for text in texts([*own, *other])), "though it is nearer and warns"


def test_a_line_of_another_queue_is_none() -> None:
    rows = [LogRow(24.0, 0, 'acted {"queue":3,"offset":1}'), LogRow(24.1, 0, 'acted {"queue":0,"offset":1}')]
    assert [one.at for one in log_clues(rows, NAMES, 24.0, [CUT], ["b1"], key=0)] == [24.1]
    assert len(log_clues(rows, NAMES, 24.0, [CUT], ["b1"])) == ALIKE


def test_a_line_is_told_by_the_nearest_fault_also_if_another_one_is_blamed() -> None:
    later = msgspec.structs.replace(CUT, id=4, start=31.0, end=41.0)
    (line,) = log_clues([LogRow(32.5, 0, "late")], NAMES, 24.0, [CUT], ["b1"], every=[CUT, later])
    assert line.near == "1.5 s after fault 4 begins"
    assert log_clues([LogRow(34.5, 0, "later")], NAMES, 24.0, [CUT], ["b1"], every=[CUT, later]) == ()


def test_what_is_far_from_all_of_it_is_no_clue() -> None:
    assert texts([LogRow(60.0, 0, "ERROR much later")]) == []


def test_the_page_has_them_beside_the_example(reports_by_kind: dict[str, ReportData]) -> None:
    text = page(reports_by_kind["invalid"])
    example = text.split('id="example-lost-write-1"')[1].split('class="example"')[0]
    assert "What nodes logged nearest to it, warnings and errors first" in example
    assert "cut off &lt;script&gt;" in example
    assert "500 ms after fault 1 begins" in example


def test_a_line_may_be_broken_behind_its_signs_and_is_text() -> None:
    assert allow_breaks('{"a":"<b>","c":1}') == "{&#34;a&#34;:<wbr>&#34;&lt;b&gt;&#34;,<wbr>&#34;c&#34;:<wbr>1}"


def test_a_simulation_has_one_clock() -> None:
    run = msgspec.structs.replace(synthetic.run_info("valid"), backend="sim")
    line = LogLine("monotonic", run.origin_ns / 1e9 + 5.0, "bent")
    logs = logs_of([LogFile(node="b1", path="x", lines=(line,))], run, (), [5.0], (0.0, 60.0))
    assert [row.at for row in logs.rows] == [5.0]
