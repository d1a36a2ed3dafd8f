"""The style of text on a stream: who decides the colours, how wide it is, and which columns give way."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from on_terminal import shown

from reports.summary.text_style import NARROWEST, PIPED, PROSE, TextStyle, has_colour, style_of


@pytest.mark.parametrize(
    ("environ", "terminal", "colour"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_who_decides_the_colours(environ: dict[str, str], terminal: bool, colour: bool) -> None:
    assert has_colour(environ, terminal=terminal) is colour


def test_a_pipe_has_the_width_of_prose_and_nothing_is_cut() -> None:
    style = style_of(io.StringIO(), {"COLUMNS": "50"})
    assert style == TextStyle(width=PROSE, fits=False, colour=False)
    assert style.shorten("x" * 500, 10) == "x" * 500
    assert style.fit("word " * 100) == ["word " * 100]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("columns", "width"), [("77", 77), ("9", NARROWEST), ("0", PROSE), ("wide", PROSE), ("", PROSE)]
)
def test_columns_says_how_wide_a_terminal_is(columns: str, width: int) -> None:
    assert style_of(Terminal(), {"COLUMNS": columns}).width == width


def test_columns_give_way_in_their_order_and_no_further_than_they_must() -> None:
    rows = [("a" * 10, "b" * 60, "c" * 40)]
    style = TextStyle(width=80, fits=True)
    (_, line) = style.table(("one", "two", "three"), rows, elastic=(1, 2))
    assert line == f"{'a' * 10}  {'b' * 25}…  {'c' * 40}"
    (_, line) = TextStyle(width=50, fits=True).table(("one", "two", "three"), rows, elastic=(1, 2))
    assert line == f"{'a' * 10}  {'b' * 15}…  {'c' * 19}…"
    assert TextStyle(width=50).table(("one", "two", "three"), rows, elastic=(1, 2))[1] == "  ".join(rows[0])


def test_columns_that_can_be_spared_go_where_a_row_does_not_fit_otherwise() -> None:
    rows = [("1", "2026-11-28", "PASS", "a long sentence " * 3)]
    head = ("", "BEGAN", "VERDICT", "FOUND")

    def heads(width: int) -> list[str]:
        return TextStyle(width=width, fits=True).table(head, rows, elastic=(3,), spare=(3, 1))[0].split()

    assert heads(60) == ["BEGAN", "VERDICT", "FOUND"]
    assert heads(30) == ["BEGAN", "VERDICT"]
    assert heads(20) == ["VERDICT"]
    assert PIPED.table(head, rows, spare=(3, 1))[0].split() == ["BEGAN", "VERDICT", "FOUND"]


def test_a_text_beside_a_cell_hangs_below_itself() -> None:
    text = "the leader of one group, drawn for each fault"
    assert TextStyle(width=50, fits=True).hang("leader-kill   ", text) == [
        "leader-kill   the leader of one group, drawn for",
        "              each fault",
    ]
    assert TextStyle(width=40, fits=True).hang("leader-kill   ", text) == [
        "leader-kill",
        "    the leader of one group, drawn for",
        "    each fault",
    ]
    assert PIPED.hang("leader-kill   ", text * 9) == ["leader-kill   " + text * 9]
    assert TextStyle(width=50, fits=True).hang("leader-kill   ", "") == ["leader-kill"]


def test_a_stream_that_was_closed_is_no_terminal() -> None:
    assert style_of(None, {"COLUMNS": "50", "FORCE_COLOR": "1"}) == PIPED


def test_cells_are_one_line_and_keep_their_thin_blanks() -> None:
    assert TextStyle().table(("x",), [("27\u202f600 \n sends",)])[1] == "27\u202f600 sends"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from chaos.cli.generate import generate_command

    folder = tmp_path_factory.mktemp("look")
    argv = [
        "--ops",
        "2000",
        "--anomaly",
        "lost-write=1",
        "--output",
        str(folder / "store" / "g" / "20261122T070001Z-0001"),
    ]
    assert generate_command.main(argv, standalone_mode=False) == 0
    return folder


@pytest.mark.parametrize("columns", [80, 150])
def test_a_judged_run_fits_a_real_terminal(store: Path, columns: int) -> None:
    said = shown(columns, store, "check", "-1", "--check", "no-loss")
    assert "\x1b[1;31mFAIL\x1b[0m  -1" in said
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)
    assert max(map(len, plain.splitlines())) <= columns


def test_a_judged_run_has_no_colour_where_none_is_wanted(store: Path) -> None:
    said = shown(80, store, "check", "-1", "--check", "no-loss", NO_COLOR="1")
    assert "FAIL  -1" in said
    assert re.findall(r"\x1b\[[\d;]*m", said) == []


@pytest.mark.parametrize(("columns", "argv"), [(40, ["ls"]), (80, ["list", "checks"]), (80, ["list", "bugs"])])
def test_lists_fit_a_real_terminal(store: Path, columns: int, argv: list[str]) -> None:
    assert max(map(len, shown(columns, store, *argv, NO_COLOR="1").splitlines())) <= columns


def test_a_list_of_runs_fits_and_behind_a_pipe_it_is_whole(store: Path) -> None:
    assert max(map(len, shown(100, store, "ls", NO_COLOR="1").splitlines())) <= 100
    argv = [sys.executable, "-m", "chaos", "ls"]
    env = {**os.environ, "COLUMNS": "40", "FORCE_COLOR": ""}
    piped = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True, cwd=store, env=env).stdout
    assert "…" not in piped
    assert "\x1b[" not in piped
