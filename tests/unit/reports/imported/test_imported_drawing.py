"""Operations, circles and orders as they are drawn."""

import itertools

import pytest

from chaos.core.verdict import Edge, Example
from reports.imported.bars import SHOWN, bars_of
from reports.imported.lanes import CHARACTER, lanes_of
from reports.page.ring import BOX, ring_of


def row(op, process, f, invoke, complete, argument=None, output=None, kind="ok"):
    said = {"op": op, "process": process, "f": f, "type": kind, "argument": argument, "output": output}
    return {**said, "invoke": invoke, "complete": complete}


ROWS = (
    row(6, 3, "read", 6, 7, output=2),
    row(0, 0, "write", 0, 2, argument=1, output=1),
    row(1, 1, "write", 1, None, argument=2, kind="info"),
    row(8, 1, "read", 8, 9),
)


def test_operations_have_their_place_in_the_order_that_explains_them():
    bars = {bar.number: bar for bar in bars_of(Example(sentence="x", ops=ROWS, order=(1, 0, 8)))}
    assert [(number, bar.place, bar.guilty) for number, bar in bars.items()] == [
        (6, None, True),
        (0, 2, False),
        (1, 1, False),
        (8, 3, False),
    ]
    assert [bar.label for bar in bars.values()] == ["read → 2", "write 1", "write 2", "read → nothing"]
    assert (bars[1].end, bars[1].outcome) == (None, "info")


def test_a_title_tells_the_order_up_to_its_operation():
    bars = {bar.number: bar for bar in bars_of(Example(sentence="x", ops=ROWS, order=(1, 0)))}
    assert bars[1].title.splitlines() == ["write 2 (info, process 1, number 1)", "first in the order"]
    assert bars[0].title.splitlines()[1:] == ["in the order after:", "1. write 2 (1)"]
    assert bars[6].title.splitlines()[1:] == ["fits nowhere in this order:", "1. write 2 (1)", "2. write 1 (0)"]
    assert bars[8].title.splitlines()[1:] == ["not in the order"]


def test_of_a_long_order_a_title_tells_the_nearest():
    rows = [row(at, at, "write", at, at + 1, argument="x" * 50) for at in range(SHOWN + 5)]
    bars = bars_of(Example(sentence="x", ops=(row(99, 0, "read", 90, 91), *rows), order=tuple(range(SHOWN + 5))))
    head, more, *named = bars[0].before
    assert (head, more, len(named)) == ("fits nowhere in this order:", "(5 operations before these)", SHOWN)
    assert named[-1] == f"{SHOWN + 5}. write {'x' * 50} ({SHOWN + 4})", "whole, however long it is"


def test_without_an_order_nobody_is_guilty():
    assert not any(bar.guilty or bar.place for bar in bars_of(Example(sentence="x", ops=ROWS)))


def test_records_of_two_rows_are_one_operation():
    rows = (
        {"index": 4, "process": 0, "type": "invoke", "f": "send", "value": [["send", 1, 3]]},
        {"index": 5, "process": 1, "type": "invoke", "f": "poll"},
        {"index": 7, "process": 0, "type": "ok", "f": "send", "value": [["send", 1, [9, 3]]]},
        {"index": 8, "process": 1, "type": "info", "f": "poll"},
        {"index": 9, "process": 2, "type": "ok", "f": "poll", "value": [["poll", {"1": [[9, 3]]}]]},
        {"index": 10, "process": 3, "type": "invoke", "f": "send", "value": [["send", 1, 4]]},
    )
    told = [(bar.number, bar.begin, bar.end, bar.label) for bar in bars_of(Example(sentence="x", ops=rows))]
    assert told == [
        (7, 4, 7, "[send 1 [9 3]]"),
        (8, 5, None, "poll"),
        (9, 9, 9, "[poll {1 [[9 3]]}]"),
        (10, 10, None, "[send 1 4]"),
    ]


def test_rows_without_times_are_not_drawn():
    assert bars_of(Example(sentence="x", ops=({"op": 1, "f": "append", "type": "ok"},))) == ()
    assert lanes_of(()) is None


def boxes(*rows):
    made = lanes_of(bars_of(Example(sentence="x", ops=rows)))
    assert made is not None
    return made, {box.bar.number: box for box in made.boxes}


def test_what_overlaps_in_time_overlaps_in_the_picture_and_nothing_else():
    rows = [
        row(op, op, "write", *ends, argument=op) for op, ends in enumerate([(0, 3), (1, 2), (4, 9), (5, None), (6, 6)])
    ]
    _, drawn = boxes(*rows)
    for one in rows:
        for other in rows:
            a, b = drawn[one["op"]], drawn[other["op"]]
            ends = one["complete"] is None or one["complete"] >= other["invoke"]
            assert ends == (a.x + a.width >= b.x), (one, other)


@pytest.mark.parametrize("text", ["1", "a value that is rather long", "x" * 200])
def test_every_label_has_room_and_boxes_of_a_process_stand_apart(text):
    made, drawn = boxes(
        row(0, 0, "write", 0, 1, argument=text),
        row(1, 0, "read", 2, None, kind="info", output=None),
        row(2, 0, "read", 3, 4, output=text),
        row(3, 1, "read", 0, None, kind="info"),
    )
    for box in drawn.values():
        assert box.width >= len(box.bar.label) * CHARACTER
        assert box.x + box.width <= made.width
    assert drawn[0].x + drawn[0].width < drawn[1].x
    assert drawn[1].x + len(drawn[1].bar.label) * CHARACTER < drawn[2].x, "an open one is covered behind its label"
    assert drawn[1].open
    assert [name for _, name in made.names] == ["0", "1"]


def test_processes_stand_in_the_order_of_their_numbers():
    made, _ = boxes(*(row(op, name, "read", op, op) for op, name in enumerate(["10", "9", "b", "a"])))
    assert [name for _, name in made.names] == ["9", "10", "a", "b"]


@pytest.mark.parametrize("number", [1, 2, 3, 11])
def test_a_circle_has_a_box_and_an_arrow_for_each_edge(number):
    edges = [Edge(before=at, after=(at + 1) % number, kind="ww", reason=f"r{at}") for at in range(number)]
    made = ring_of(edges, {0: "the first"})
    assert made is not None
    assert [node.label for node in made.nodes] == ["the first", *(str(at) for at in range(1, number))]
    assert [arrow.number for arrow in made.arrows] == [*range(1, number + 1)]
    tops = [node.y for node in made.nodes]
    assert all(low - high > BOX[1] for high, low in itertools.pairwise(tops)), "boxes stand apart"
    assert tops[-1] + BOX[1] <= made.height


def test_no_edges_no_circle():
    assert ring_of([], {}) is None
