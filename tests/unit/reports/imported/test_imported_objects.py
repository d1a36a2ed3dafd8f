"""The timelines of a history's objects: which operations are on which, what is marked, and what is left out."""

import pytest

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, CheckResult, Example, Results
from chaos.formats.operations import NEVER, Operation
from reports.imported.bars import bars_of
from reports.imported.lanes import lanes_of
from reports.imported.objects import DRAWN, OBJECTS, Objects, objects_of


def op(at, f="write", process=0, key=None, argument=None, output=None, **more):
    times = {"invoke": at, "complete": at + 1, "number": at, "type": Type.OK}
    return Operation(**{**times, **more}, f=f, process=process, key=key, argument=argument, output=output)


def results(*rows, allowed=False):
    found = {"G1c": Anomaly(count=1, allowed=allowed, examples=(Example(sentence="x", ops=rows),))} if rows else {}
    check = CheckResult(name="x", valid=not rows, found="", examined="", anomalies=found)
    told = {"sentence": "", "reason": "", "counts": {}, "model": "x", "engine": "local"}
    return Results(valid=not rows, checks=(check,), anomalies=found, **told)


def labels(part):
    return [box.bar.label for box in part.lanes.boxes]


def test_each_key_has_its_operations_and_a_history_of_one_object_one_timeline():
    made = objects_of([op(0, key=1, argument=5), op(2, key=0, argument=6), op(4, key=1, f="read", output=5)], results())
    assert [(part.name, labels(part)) for part in made.parts] == [("0", ["write 6"]), ("1", ["write 5", "read → 5"])]
    (single,) = objects_of([op(0, argument=5), op(2, argument=6)], results()).parts
    assert (single.name, single.count) == ("", "2 operations")


@pytest.mark.parametrize("mark", [":", ""])
def test_a_transaction_is_on_the_timeline_of_each_object_with_what_it_did_there(mark):
    steps = ((f"{mark}append", "x", 3), (f"{mark}r", "y", (1, 2)), (f"{mark}r", "x", (3,)))
    made = objects_of([op(0, f="txn", argument=steps, output=steps)], results())
    assert [(part.name, labels(part)) for part in made.parts] == [("x", ["append 3; r [3]"]), ("y", ["r [1 2]"])]


def test_a_poll_is_on_the_timeline_of_each_log_that_it_read():
    made = objects_of([op(0, f="poll", output=((":poll", {1: ((0, 7),), 2: ((4, 8),)}),))], results())
    assert [(part.name, labels(part)) for part in made.parts] == [("1", ["poll [[0 7]]"]), ("2", ["poll [[4 8]]"])]


def test_objects_of_errors_stand_first_and_their_operations_are_marked():
    operations = [op(at, key=at % 3, process=at) for at in range(9)]
    made = objects_of(operations, results({"op": 5, "process": 5, "f": "write", "type": "ok", "invoke": 5}))
    assert [part.name for part in made.parts] == ["2", "0", "1"]
    assert [box.bar.number for box in made.parts[0].lanes.boxes if box.bar.guilty] == [5]
    assert [part.errors for part in made.parts] == [1, 0, 0]
    allowed = objects_of(operations, results({"process": 5, "type": "ok", "invoke": 5}, allowed=True))
    assert [part.errors for part in allowed.parts] == [0, 0, 0]


def test_rows_of_two_records_mark_the_operation_that_they_began():
    rows = ({"index": 2, "process": 0, "type": "invoke"}, {"index": 9, "process": 0, "type": "ok"})
    (part,) = objects_of([op(0), op(2), op(4)], results(*rows)).parts
    assert [box.bar.number for box in part.lanes.boxes if box.bar.guilty] == [2]


@pytest.mark.parametrize(("wrong", "first"), [(None, 0), (0, 0), (500, 480), (999, 1000 - DRAWN)])
def test_of_many_operations_those_around_the_first_error_are_drawn(wrong, first):
    rows = () if wrong is None else ({"process": 0, "invoke": wrong},)
    (part,) = objects_of([op(at) for at in range(1000)], results(*rows)).parts
    numbers = [box.bar.number for box in part.lanes.boxes]
    assert numbers == list(range(first, first + DRAWN))
    assert part.shown.startswith(f"showing {DRAWN} of 1000")


def test_of_many_objects_some_are_drawn_and_it_is_said():
    made = objects_of([op(at, key=at) for at in range(OBJECTS + 3)], results())
    assert len(made.parts) == OBJECTS
    assert made.said == "3 other objects not drawn."
    assert objects_of([], results()) == Objects()


def test_what_no_process_is_known_of_is_spread_out_so_that_nothing_covers_anything():
    operations = [op(0, process=None, complete=5), op(1, process=None, complete=NEVER, type=Type.INFO)]
    operations += [op(6, process=None), op(8, process=None)]
    (part,) = objects_of(operations, results()).parts
    boxes = part.lanes.boxes
    assert len({box.y for box in boxes}) == 2
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            assert one.y != other.y or one.x + one.width <= other.x
    assert boxes[1].open


def test_operations_of_one_process_stay_in_one_lane():
    (part,) = objects_of([op(0, complete=9, type=Type.INFO), op(3)], results()).parts
    assert len({box.y for box in part.lanes.boxes}) == 1


def test_a_read_of_a_set_says_what_is_in_it_as_histories_do():
    (part,) = objects_of([op(0, f="read", output=frozenset({10, 2, "x"}))], results()).parts
    assert labels(part) == ["read → #{2 x 10}"]


def test_a_read_of_a_log_says_what_it_returned():
    row = {"op": 4, "f": "read", "type": "ok", "from": 0, "to_end": True, "records": [[0, 1], [8, 0]], "invoke": 1}
    (bar,) = bars_of(Example(sentence="x", ops=({**row, "complete": 2},)))
    assert bar.title.startswith("read from 0 → [[0 1] [8 0]] to the end (ok")
    assert lanes_of([bar]) is not None
    (empty,) = bars_of(Example(sentence="x", ops=({**row, "records": [], "to_end": False, "complete": 2},)))
    assert empty.label == "read from 0 → nothing"
