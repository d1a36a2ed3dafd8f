"""A history as text: what fits a line stands beside the others, the rest below its column."""

from typing import Any

import pytest

from chaos.core.op import Type
from chaos.models.log.model import LogModel
from chaos.models.log.words import F
from reports.history.rows import Operation
from reports.history.text import Layout, Line, lines_around, operation_line
from reports.summary.text_style import PIPED, TextStyle

NODES = ["n1", "n2"]
LONG = "[" + " ".join(map(str, range(40))) + "]"


class Told:
    """A model of one word whose argument is as long as the row says."""

    key = "register"
    words = F

    def line(self, row: Any) -> str:
        return f"send {row['argument']}"


def line(argument: str, layout: Layout, error: str | None = None) -> str:
    row = {"f": F.SEND, "type": int(Type.FAIL if error else Type.OK), "process": 12, "pinned": True, "key": 3}
    row |= {"invoke_ns": 1_500_000_000, "complete_ns": 1_502_500_000, "node": 1, "error": error, "argument": argument}
    return operation_line(Operation(row["invoke_ns"], 0, 0, row), Told(), NODES, 0, layout=layout).text


def on(width: int) -> Layout:
    return Layout.of(Told(), NODES, TextStyle(width=width, fits=True))


@pytest.mark.parametrize("width", [40, 60, 80, 99, 100, 120, 200])
def test_nothing_is_left_out_and_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = line(LONG, on(width), "rejected: not-master, the leader is n1 and was elected in term 12").splitlines()
    assert max(map(len, lines)) <= max(width, 80), "below 80 columns some numbers do not fit"
    said = " ".join(" ".join(lines).split())
    cells = f"1.500 2.5 12 pin 3 send {LONG} fail n2 rejected: not-master, the leader is n1 and was elected in term 12"
    assert sorted(said.split()) == sorted(cells.split())


def test_on_80_columns_an_operation_is_one_column_and_the_error_stands_below() -> None:
    assert (
        line("3:17 -> 204", on(80)) == "    1.500     2.5 12 pin      3 send 3:17 -> 204                  ok        n2"
    )
    assert line("3:17", on(80), "rejected: not-master").splitlines() == [
        "    1.500     2.5 12 pin      3 send 3:17                         fail      n2",
        "                                rejected: not-master",
    ]


def test_on_120_columns_a_short_error_stands_beside_the_node() -> None:
    (only,) = line("3:17", on(120), "rejected: not-master").splitlines()
    assert only.split() == ["1.500", "2.5", "12", "pin", "3", "send", "3:17", "fail", "n2", "rejected:", "not-master"]
    assert len(line("3:17", on(120), "a reason that is a good deal longer than the room").splitlines()) == 2


def test_behind_a_pipe_an_operation_is_one_line() -> None:
    layout = Layout.of(Told(), NODES, PIPED)
    assert LONG in line(LONG, layout, "why")
    assert "\n" not in line(LONG, layout, "why")


@pytest.mark.parametrize("width", [80, 120])
def test_the_head_names_what_keys_are(width: int) -> None:
    assert on(width).head.split()[5] == "KEY", "register is too long for the column"
    assert Layout.of(LogModel(), NODES, TextStyle(width=width, fits=True)).head.split()[5] == "QUEUE"


def test_the_lines_below_an_operation_stand_in_its_margin() -> None:
    lines = [Line(0, "a\n  b"), Line(1, "c\n  d", hit=True)]
    assert list(lines_around(lines, 1, lambda line: line.hit)) == ["  a\n    b", "> c\n    d"]
