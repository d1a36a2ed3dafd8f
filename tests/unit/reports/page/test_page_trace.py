"""The picture of an anomaly: its axis, its words, and that labels keep apart."""

from itertools import pairwise
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from chaos.core.verdict import Example
from reports.page import trace
from reports.page.op_words import op_words
from reports.page.panels import Band, Change

TIME = st.floats(0, 10_000, allow_nan=False).map(lambda t: round(t, 6))
SPANS = st.lists(st.tuples(TIME, st.none() | st.floats(0, 5).map(lambda t: round(t, 6))), min_size=1, max_size=20)


def band(number: int, start: float, end: float) -> Band:
    return Band(
        id=number,
        name="leader-partition",
        colour="violet",
        start=start,
        end=end,
        healed=end,
        targets=("b1",),
        proven=True,
    )


def example(*ops: dict[str, Any], **more: Any) -> Example:
    return Example(sentence="s", ops=ops, **more)


def send(process: int, start: float, end: float | None, **more: Any) -> dict[str, Any]:
    return {"f": "send", "type": "ok", "process": process, "invoke_s": start, "complete_s": end, "value": "1:2", **more}


@given(SPANS)
def test_the_axis_keeps_order_and_stays_inside(drawn: list[tuple[float, float | None]]) -> None:
    spans = [(start, None if took is None else start + took) for start, took in drawn]
    axis = trace.Axis(spans)
    times = sorted(t for span in spans for t in span if t is not None)
    xs = [axis.x(t) for t in times]
    assert xs == sorted(xs)
    assert all(trace.LEFT <= x <= trace.WIDTH - trace.RIGHT + 0.1 for x in xs)
    assert all(axis.shows(t) for t in times)
    assert not any(start < cut and end > cut for start, end in spans if end for pair in axis.cuts for cut in pair)


def test_a_gap_that_dwarfs_the_rest_is_cut() -> None:
    axis = trace.Axis([(10.0, 10.1), (10.3, None), (150.0, 150.2)])
    ((start, end),) = axis.cuts
    assert 10.3 < start < 11
    assert 149 < end < 150.0
    assert axis.x(10.3) - axis.x(10.0) > 300, "what happened within 0.3 s must be seen"
    assert trace.Axis([(1.0, 2.0), (3.5, 5.0)]).cuts == []


def test_operations_without_an_offset_are_drawn() -> None:
    delayed = {**send(1, 1.0, 1.1), "f": "schedule", "offset": None, "deliver_s": 4.0}
    half = {**send(2, 1.2, 1.3), "f": "transact", "offset": None, "decides": "commit"}
    picture = trace.trace(example(delayed, half), [], [])
    assert picture is not None
    assert len(picture.bars) == 2


def test_the_middle_of_an_operation_is_not_cut() -> None:
    assert trace.Axis([(1.0, 90.0), (2.0, 2.1)]).cuts == []


def test_the_guilty_operations_are_told_from_their_neighbours() -> None:
    picture = trace.trace(synthetic.lost_example(), [band(1, 20.0, 40.0)], [])
    assert picture is not None
    guilty = {bar.label: bar.guilty for bar in picture.bars}
    assert guilty == {
        "send 4:219 → ?": False,
        "send 1:412: SYSTEM_BUSY: not master (b2)": False,
        "send 5:232 → 1203 (b1)": False,
        "send 5:233 → 1204 (b1, pinned client)": True,
        "send 3:871 → 1204 (b2)": True,
        "poll 1200…1207: 1204=3:871 (b2)": True,
        "drain 0…9210: 1204=3:871 (b2)": True,
    }
    assert [(cut.label, cut.title.split("\n")[1]) for cut in picture.cuts] == [
        ("126 s left out", "fault 1 ends at 40.0 s")
    ]


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ({"f": "poll", "type": "ok", "from": 4, "next": 4, "node": "b2"}, "poll from 4: nothing (b2)"),
        ({"f": "read", "type": "ok", "from": 0, "next": 9, "records": ["3=1:1", "8=?"]}, "read 0…8: nothing at 7"),
        ({"f": "read", "type": "ok", "from": 0, "next": 30, "records": ["28=1:1", "29=1:2"]}, "read 0…29"),
        ({"f": "read", "type": "ok", "from": 0, "next": 7, "records": []}, "read 0…6"),
        (
            {"f": "poll", "type": "ok", "from": 7, "next": 10, "count": 2, "records": ["8=1:1", "9=1:2"]},
            "poll 7…9, 2 of 3 records: nothing at 7",
        ),
        (
            {"f": "poll", "type": "ok", "from": 7, "next": 10, "count": 2, "records": ["9=1:2"]},
            "poll 7…9, 2 of 3 records",
        ),
        (
            {"f": "drain", "type": "ok", "from": 0, "next": 9, "count": 10, "records": ["7=1:1", "7=1:2"]},
            "drain 0…8: 7=1:1 and 7=1:2",
        ),
        ({"f": "read", "type": "fail", "from": 3, "error": "not master"}, "read from 3: not master"),
        ({"f": "drain", "type": "info", "from": None, "error": "deadline"}, "drain: deadline"),
        (
            {"f": "read", "type": "fail", "from": 3, "next": 9, "records": ["7=1:1"], "error": "not master any more"},
            "read from 3: 7=1:1, then not master any more",
        ),
        (
            {"f": "poll", "type": "info", "from": 3, "next": 9, "records": ["6=1:1"], "error": "deadline"},
            "poll from 3: deadline",
        ),
        ({"f": "send", "type": "info", "value": "1:2", "offset": 9}, "send 1:2 → ?"),
        ({"f": "read", "type": "ok", "what": "read k0 -> 1", "node": "n2"}, "read k0 -> 1 (n2)"),
        ({"f": "read", "type": "ok", "argument": None, "output": 1}, "read → 1"),
        ({"f": "cas", "type": "info", "argument": [4, 1], "output": None}, "cas 4, 1 → ?"),
        ({"f": "cas", "type": "fail", "what": "cas k0 1->2", "error": "refused"}, "cas k0 1->2: refused"),
        ({"f": "pop", "type": "ok", "records": ["3=1:1", "=1:0"], "node": "b1"}, "pop: 3=1:1 =1:0 (b1)"),
        ({"f": "pop", "type": "ok", "records": []}, "pop: nothing"),
        ({"f": "pop", "type": "fail", "error": "not master"}, "pop: not master"),
        ({"f": "pop", "type": "info", "records": ["=1:0"], "error": "reset"}, "pop: =1:0, then reset"),
        ({"f": "ack", "type": "ok", "value": "1:1", "node": "b1"}, "ack 1:1 (b1)"),
        ({"f": "extend", "type": "info", "value": "1:1", "error": "deadline"}, "extend 1:1: deadline"),
        (
            {"f": "schedule", "type": "ok", "value": "1:2", "offset": None, "deliver_s": 12.04, "node": "b1"},
            "schedule 1:2 for 12.0 s → ok (b1)",
        ),
        ({"f": "transact", "type": "ok", "value": "1:2", "decides": "rollback"}, "transact 1:2, rollback → ok"),
        ({"f": "transact", "type": "info", "value": "1:2", "decides": "commit"}, "transact 1:2, commit → ?"),
        (
            {"f": "transact", "type": "fail", "value": "1:2", "decides": "never", "error": "not master"},
            "transact 1:2, never: not master",
        ),
    ],
)
def test_operations_in_words(op: dict[str, Any], said: str) -> None:
    assert op_words(op, around=7) == said


def test_a_read_says_at_which_offsets_it_returned_the_message() -> None:
    read = {"f": "read", "type": "ok", "from": 0, "next": 9, "records": ["3=1:1", "4=1:2", "7=1:3", "8=1:2"]}
    assert op_words(read, 7, "1:2") == "read 0…8: 4=1:2, 7=1:3, 8=1:2"


def test_a_read_with_a_row_for_each_offset_is_one_operation() -> None:
    read = {**send(2, 2.0, 2.5), "f": "read", "value": None, "from": 0, "next": 9}
    rows = ({**read, "records": ["3=1:1", "4=1:2"]}, {**read, "records": ["7=1:3", "8=1:2"]})
    found = example(send(1, 1.0, 1.1, offset=4), *rows, value="1:2", offset=4)
    picture = trace.trace(found, [], [])
    assert picture is not None
    assert (picture.shown, picture.of) == (2, 2)
    assert [step.words for step in picture.steps] == ["send 1:2 → 4", "read 0…8: 4=1:2, 8=1:2"]
    assert [op["records"] for op in found.ops[1:]] == [row["records"] for row in rows], "the example is as it was"


def test_the_list_says_when_each_operation_began_and_ended() -> None:
    endless = {**send(3, 1.2, 1.3), "type": "info", "complete_s": None}
    picture = trace.trace(example(send(1, 1.0, 1.5, offset=4), endless), [], [])
    assert picture is not None
    assert [(step.at, step.end, step.took) for step in picture.steps] == [
        (1.0, 1.5, "process 1, took 500 ms"),
        (1.2, None, "process 3, no answer"),
        (1.5, None, ""),
    ], "the first ended after the other had begun: its end has a line of its own"


@pytest.mark.parametrize(("records", "guilty"), [(["7=1:1", "8=1:2"], True), (["6=1:0"], False), (["=1:1"], False)])
def test_a_read_that_ended_badly_is_guilty_of_what_it_returned(records: list[str], guilty: bool) -> None:
    read = {**send(2, 2.0, 2.1), "f": "read", "type": "fail", "value": None, "from": 3, "next": 9, "records": records}
    picture = trace.trace(example(send(1, 1.0, 1.1), read, offset=7), [], [])
    assert picture is not None
    assert [bar.guilty for bar in picture.bars if bar.label.startswith("read")] == [guilty]


def test_an_operation_without_end_reaches_the_edge_and_is_open() -> None:
    picture = trace.trace(example(send(1, 1.0, None, type="info"), send(2, 1.5, 2.0)), [], [])
    assert picture is not None
    never, answered = sorted(picture.bars, key=lambda bar: bar.x)
    assert never.open
    assert never.x + never.width == pytest.approx(trace.WIDTH - trace.RIGHT)
    assert not answered.open


def test_no_timed_operation_no_picture() -> None:
    assert trace.trace(example({"f": "send", "type": "ok"}), [], []) is None
    assert trace.trace(example(), [], []) is None


def test_many_operations_are_cut_and_counted() -> None:
    picture = trace.trace(example(*(send(1, i, i + 0.5) for i in range(60))), [], [])
    assert picture is not None
    assert (picture.shown, picture.of) == (trace.MAX_OPS, 60)


def extent(bar: trace.Bar) -> tuple[float, float, float]:
    """Row, left and right edge of a bar with its label."""
    length = 6.0 * len(bar.label)
    left = bar.label_x - length if bar.anchor == "end" else bar.label_x
    return bar.y, min(bar.x, left), max(bar.x + bar.width, left + length)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.floats(0, 50), st.floats(0, 3)), min_size=1, max_size=12),
    st.lists(st.floats(0, 60), max_size=5),
)
def test_nothing_overlaps(ops: list[tuple[int, float, float]], changes: list[float]) -> None:
    rows = [send(process, start, start + took, offset=7) for process, start, took in ops]
    moved = [Change(time=t, node="b2", words=f"b2 is master, epoch {i}") for i, t in enumerate(changes)]
    picture = trace.trace(example(*rows), [band(1, 10, 20), band(2, 30, 31)], moved)
    assert picture is not None
    extents = sorted(extent(bar) for bar in picture.bars)
    for (y, _, end), (next_y, start, _) in pairwise(extents):
        assert next_y > y or start >= end
    labels = sorted(
        (mark.label_y, mark.label_x - (6.0 * len(mark.label) if mark.anchor == "end" else 0), mark.label)
        for mark in picture.marks
    )
    for (y, x, label), (next_y, next_x, _) in pairwise(labels):
        assert next_y > y or next_x >= x + 6.0 * len(label)
    assert all(mark.label_y < picture.top for mark in picture.marks)
    assert all(picture.top <= bar.y < picture.bottom for bar in picture.bars)
