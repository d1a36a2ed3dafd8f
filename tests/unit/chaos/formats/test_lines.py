"""Formats of one record a line: OpenChaos, Porcupine's test data, paired operations as JSON."""

import json

import pytest

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.edn import Keyword
from chaos.formats.operations import LONG_AGO, NEVER
from chaos.formats.registry import read

OPENCHAOS = """\
0\tenqueue\tREQUEST\t1\tk\t1000\tnull
0\tenqueue\tRESPONSE\tSUCCESS\t1\tk\t1003\t3\tmsg 7\t0
fault\trandom-kill\tstart\t1004
1\tdequeue\tREQUEST\tnull\tnull\t1005\tnull
1\tdequeue\tRESPONSE\tSUCCESS\t1\tk\t1006\t1\tnull\t5
1\tdequeue\tRESPONSE\tSUCCESS\t2\tk\t1006\t1\tnull\t5
2\tdequeue\tRESPONSE\tSUCCESS\t2\tk\t1007\t0\tnull\t6
fault\trandom-kill\tend\t1008
0\tenqueue\tREQUEST\t3\tk\t1009\tnull
1\tdequeue\tREQUEST\tnull\tnull\t1009\tnull
1\tdequeue\tRESPONSE\tFAILURE\tnull\tnull\t1010\t1\tnull\t0
0\tenqueue\tRESPONSE\tUNKNOWN\t3\tk\t1012\t3\tnull\t0
3\tgetAll\tREQUEST\tnull\tnull\t1013\tnull
3\tgetAll\tRESPONSE\tSUCCESS\t[1, 3]\tnull\t1014\t1\tnull\t0
3\tput\tREQUEST\t9\tnull\t1015\tnull
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "history"
        path.write_bytes(text.encode())
        return path

    return write


def test_openchaos(file):
    history = read(file(OPENCHAOS), "openchaos")
    found = [(o.f, o.type, o.process, o.invoke, o.complete, o.key, o.argument, o.output) for o in history.items]
    assert found == [
        ("dequeue", Type.OK, 2, LONG_AGO, 7, "k", None, "2"),  # pushed: nobody asked
        ("enqueue", Type.OK, 0, 1, 2, "k", "1", "1"),
        ("dequeue", Type.OK, 1, 4, 5, "k", None, "1"),
        ("dequeue", Type.OK, 1, 4, 6, "k", None, "2"),  # a second message of one pull
        ("enqueue", Type.INFO, 0, 9, NEVER, "k", "3", "3"),
        ("dequeue", Type.FAIL, 1, 10, 11, None, None, None),
        ("getAll", Type.OK, 3, 13, 14, None, None, ("1", "3")),
        ("put", Type.INFO, 3, 15, NEVER, None, "9", None),
    ]
    assert (history.items[1].invoke_ns, history.items[1].complete_ns) == (1_000_000_000, 1_003_000_000)
    assert history.items[1].extra == {"latency_ms": "3", "info": "msg 7", "end_to_end_ms": "0"}
    assert [o.answered for o in history.items] == [True] * 7 + [False]
    assert [(f.f, f.value, f.time_ns) for f in history.others] == [
        ("random-kill", "start", 1_004_000_000),
        ("random-kill", "end", 1_008_000_000),
    ]
    assert history.cut_off is None


CONSOLE = """\
INFO  jepsen.util - 0\t:invoke\t:read\tnil
INFO  jepsen.util - 10  :invoke :write  4
INFO  jepsen.util - 0\t:ok\t:read\tnil
INFO  jepsen.util - 2\t:invoke\t:cas\t[1 4]
INFO  jepsen.util - 2\t:fail\t:cas\t[1 4]
INFO  jepsen.util - 10  :info   :write  :timed-out
INFO  jepsen.util - :nemesis\t:info\t:start\tnil
3\t:invoke\t:read\tnil
3\t:fail\t:read\t:timed-out
"""


def test_porcupine_console_logs(file):
    history = read(file(CONSOLE), "porcupine")
    found = [(o.f, o.type, o.process, o.invoke, o.complete, o.argument, o.output) for o in history.items]
    assert found == [
        ("read", Type.OK, 0, 0, 2, None, None),
        ("write", Type.INFO, 10, 1, NEVER, 4, Keyword(":timed-out")),
        ("cas", Type.FAIL, 2, 3, 4, (1, 4), (1, 4)),
        ("read", Type.FAIL, 3, 7, 8, None, Keyword(":timed-out")),
    ]
    assert (history.nil_means, history.failed_cas_observes) == ("absent", True)


def test_porcupine_kv_files(file):
    history = read(
        file(
            '{:process 0, :type :invoke, :f :append, :key "4", :value "x 0 1 y"}\n'
            '{:process 1, :type :invoke, :f :get, :key "4", :value nil}\n'
            '{:process 0, :type :ok, :f :append, :key "4", :value "x 0 1 y"}\n'
            '{:process 1, :type :ok, :f :get, :key "4", :value ""}\n'
            '{:process 2, :type :invoke, :f :put, :key "5", :value ""}\n'
        ),
        "porcupine",
    )
    found = [(o.f, o.type, o.key, o.argument, o.output) for o in history.items]
    assert found == [
        ("append", Type.OK, "4", "x 0 1 y", "x 0 1 y"),
        ("get", Type.OK, "4", None, ""),
        ("put", Type.INFO, "5", "", None),
    ]


OPERATIONS = [
    {"f": "read", "from": 3, "to_end": False, "records": [[4, 1]], "type": "ok", "invoke": 19, "complete": 23},
    {"f": "append", "value": 2, "offset": None, "type": "info", "invoke": 5, "complete": 9, "process": 1, "key": "k"},
    {"f": "append", "value": 3, "type": "info", "invoke": 6},
    {"f": "get", "value": None, "output": {"a": [1]}, "type": "ok", "invoke": 7, "complete": 7},
]


def test_jsonl(file):
    history = read(file("\n".join(json.dumps(each) for each in OPERATIONS)), "jsonl")
    found = [(o.f, o.process, o.key, o.invoke, o.complete, o.argument, o.output, o.answered) for o in history.items]
    assert found == [
        ("append", 1, "k", 5, NEVER, 2, 2, True),
        ("append", None, None, 6, NEVER, 3, 3, False),
        ("get", None, None, 7, 7, None, {"a": (1,)}, True),
        ("read", None, None, 19, 23, None, None, True),
    ]
    assert history.items[3].extra == {"from": 3, "to_end": False, "records": ((4, 1),)}


GOOD = json.dumps(OPERATIONS[0])
FAULTS = {
    "openchaos": [
        ("hello", "the line is no request, response or fault of OpenChaos"),
        ("x\tput\tREQUEST\t1\tnull\t5\tnull", "a client is a number, not 'x'"),
        ("0\tput\tREQUEST\t1\tnull\tnow\tnull", "a time is a number of milliseconds, not 'now'"),
        ("0\tput\tRESPONSE\tOK\t1\tnull\t5\t5\tnull\t0", "a response is SUCCESS, FAILURE or UNKNOWN, not 'OK'"),
        ("0\tput\tRESPONSE\tSUCCESS\t1\tnull\t5\t5\tnull\t0", "client 0 has a response to put without a request"),
        ("fault\tkill\tmiddle\t5", "a fault has a name, start or end, and a time"),
    ],
    "porcupine": [
        ("0\t:maybe\t:read\tnil", "the line is neither `process :type :f value` nor a map"),
        ("0\t:invoke\t:cas\t[1 2", "what [ began is not finished"),
        ("{:process 0, :type :invoke, :f :get", "what { began is not finished"),
        ("{:process 0} {}", "2 records on one line"),
        ("0\t:ok\t:read\t1", "process 0 completes a read it never invoked"),
    ],
    "jsonl": [
        ("{", "Input data was truncated"),
        ("[]", "the line is no JSON object"),
        (GOOD.replace("ok", "done"), "\"type\" is ok, fail or info, not 'done'"),
        (GOOD.replace('"read"', "5"), '"f" is a string, not 5'),
        (GOOD.replace("19", "1.5"), '"invoke" is an integer of 64 bits, not 1.5'),
        (GOOD.replace("19", "99"), "the operation completes at 23, before it is invoked at 99"),
        (GOOD.replace("23", "null"), 'an operation that is ok has an instant "complete"'),
        ('{"f": "read", "type": "ok"}', '"invoke" is missing'),
    ],
}
CASES = [(format_, line, words) for format_, cases in FAULTS.items() for line, words in cases]


@pytest.mark.parametrize(("format_", "line", "words"), CASES)
def test_broken_lines_are_named(file, format_, line, words):
    path = file(f"\n{line}\n")
    with pytest.raises(HistoryError) as caught:
        read(path, format_)
    assert str(caught.value) == f"{path}:2: {words}"


@pytest.mark.parametrize(
    ("format_", "text", "count"),
    [("openchaos", OPENCHAOS, 7), ("porcupine", CONSOLE, 4), ("jsonl", GOOD + "\n" + GOOD + "\n", 1)],
)
def test_a_last_line_that_was_cut_off(file, format_, text, count):
    last = text.rstrip().rfind("\n") + 1
    history = read(file(text[: last + 6]), format_)
    assert len(history.items) == count
    assert "ends within line" in (history.cut_off or "")


@pytest.mark.parametrize("format_", ["openchaos", "porcupine", "jsonl"])
def test_what_is_no_text_is_named_by_its_line_and_byte(format_, tmp_path):
    path = tmp_path / "history"
    path.write_bytes(b"\nab\xff\n")
    with pytest.raises(HistoryError, match=r"history:2: byte 3 of the line is not UTF-8$"):
        read(path, format_)
