"""What the scan of a host says about a process."""

import pytest

from cluster.nodes.process import tail
from cluster.nodes.process_state import ProcState, parse_state

FILE = "12 500 0\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ProcState(alive=False)),
        (FILE, ProcState(alive=False, pid=12, start_time=500)),
        (FILE + "12 12 S 500\n12 13 R 501\n", ProcState(alive=True, pid=12, start_time=500)),
        (FILE + "12 12 T 500\n12 13 S 501\n", ProcState(alive=True, pid=12, start_time=500)),
        (FILE + "12 12 T 500\n12 13 T 501\n", ProcState(alive=True, pid=12, start_time=500, stopped=True)),
        (FILE + "12 12 T 500\n20 20 S 9\n", ProcState(alive=True, pid=12, start_time=500, others=(20,))),
        (FILE + "12 12 T 500\n20 20 T 9\n", ProcState(alive=True, pid=12, start_time=500, stopped=True, others=(20,))),
        (FILE + "12 12 T 500\n20 20 Z 9\n", ProcState(alive=True, pid=12, start_time=500, stopped=True)),
        (FILE + "12 12 Z 500\n", ProcState(alive=False, pid=12, start_time=500, zombie=True)),
        (FILE + "12 12 Z 500\n12 14 S 502\n", ProcState(alive=True, pid=12, start_time=500)),
        (FILE + "20 20 S 9\n", ProcState(alive=False, pid=12, start_time=500, others=(20,))),
        (FILE + "12 12 S 777\n20 20 S 9\n", ProcState(alive=False, pid=12, start_time=500)),
    ],
)
def test_states(text, expected):
    assert parse_state(text) == expected


def test_gone_means_nothing_is_left():
    assert parse_state(FILE).gone
    assert parse_state(FILE + "12 12 Z 500\n").gone
    assert not parse_state(FILE + "20 20 S 9\n").gone
    assert not parse_state(FILE + "12 12 D 500\n").gone


def test_the_tail_of_a_log_is_one_line():
    assert tail(b"\n".join(b"line %d" % number for number in range(9)) + b"\n\n") == (
        "line 4 | line 5 | line 6 | line 7 | line 8"
    )
    assert tail(b"") == "(no output)"
    assert len(tail(b"x" * 5000)) == 600
