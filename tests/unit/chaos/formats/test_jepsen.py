"""Jepsen's histories beyond Kafka: events, pairing, keys of their own, old notations, and what is said of bad files."""

import numpy as np
import pytest

from chaos import plugins
from chaos.core.errors import HistoryError, UsageError
from chaos.core.op import Type
from chaos.formats import plain_text
from chaos.formats.edn import Keyword
from chaos.formats.jepsen import EventReader, event
from chaos.formats.operations import NEVER
from chaos.formats.registry import read, read_kafka

REGISTER = """\
{:index 0, :time 10, :type :invoke, :process 0, :f :write, :value 3}
{:index 1, :time 11, :type :invoke, :process 1, :f :read, :value nil}
{:index 2, :time 12, :type :info, :process :nemesis, :f :start, :value nil}
{:index 3, :time 13, :type :ok, :process 0, :f :write, :value 3}
{:index 4, :time 14, :type :ok, :process 1, :f :read, :value 3}
{:index 5, :time 15, :type :invoke, :process 0, :f :cas, :value [3 4]}
{:index 6, :time 16, :type :invoke, :process 1, :f :read, :value nil}
{:index 7, :time 17, :type :info, :process 0, :f :cas, :value [3 4], :error :timeout}
{:index 8, :time 18, :type :fail, :process 1, :f :read, :value nil, :error "no {leader"}
{:index 9, :time 19, :type :invoke, :process 2, :f :write, :value 5}
"""
BRIEF = [  # f, type, invoke, complete, process, argument, output, answered
    ("write", Type.OK, 0, 3, 0, 3, 3, True),
    ("read", Type.OK, 1, 4, 1, None, 3, True),
    ("cas", Type.INFO, 5, NEVER, 0, (3, 4), (3, 4), True),
    ("read", Type.FAIL, 6, 8, 1, None, None, True),
    ("write", Type.INFO, 9, NEVER, 2, 5, None, False),
]


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "history.edn"
        path.write_text(text, newline="")
        return path

    return write


def brief(history):
    return [(o.f, o.type, o.invoke, o.complete, o.process, o.argument, o.output, o.answered) for o in history.items]


def test_a_register(file):
    history = read(file(REGISTER), "jepsen")
    assert brief(history) == BRIEF
    assert [o.complete_ns for o in history.items] == [13, 14, 17, 18, None]
    assert history.items[2].extra == {"error": Keyword(":timeout")}
    assert history.items[3].extra == {"error": "no {leader"}
    assert [(o.process, o.f) for o in history.others] == [("nemesis", "start")]
    assert (history.nil_means, history.failed_cas_observes, history.cut_off) == ("any", False, None)


LINES = REGISTER.splitlines()
NOTATIONS = {
    "vector": "[" + " ".join(LINES) + "]",
    "commas": "[" + ",\n".join(LINES) + "]",
    "records": "".join(f"#jepsen.history.Op{line}\n" for line in LINES),
    "index last, out of order": "".join(line + "\n" for line in reversed(LINES)),
    "json lines": "".join(
        line.replace(":process :nemesis", ':process "nemesis"') + "\n"
        for line in [
            '{"index": 0, "time": 10, "type": "invoke", "process": 0, "f": "write", "value": 3}',
            '{"index": 1, "time": 11, "type": "invoke", "process": 1, "f": "read", "value": null}',
            '{"index": 2, "time": 12, "type": "info", "process": "nemesis", "f": "start"}',
            '{"index": 3, "time": 13, "type": "ok", "process": 0, "f": "write", "value": 3}',
            '{"index": 4, "time": 14, "type": "ok", "process": 1, "f": "read", "value": 3}',
            '{"index": 5, "time": 15, "type": "invoke", "process": 0, "f": "cas", "value": [3, 4]}',
            '{"index": 6, "time": 16, "type": "invoke", "process": 1, "f": "read", "value": null}',
            '{"index": 7, "time": 17, "type": "info", "process": 0, "f": "cas", "value": [3, 4], "error": "timeout"}',
            '{"index": 8, "time": 18, "type": "fail", "process": 1, "f": "read", "value": null, "error": "no {leader"}',
            '{"index": 9, "time": 19, "type": "invoke", "process": 2, "f": "write", "value": 5}',
        ]
    ),
    "tuples": """\
; process type f value
[0 :invoke :write 3]
[1 :invoke :read nil]
[:nemesis :info :start nil]
[0 :ok :write 3]
[1 :ok :read 3]
[0 :invoke :cas [3 4]]
[1 :invoke :read nil]
[0 :info :cas [3 4] :timeout]
[1 :fail :read nil "no {leader"]
[2 :invoke :write 5]
""",
}
NOTATIONS["json array"] = "[" + ",".join(NOTATIONS["json lines"].splitlines()) + "]"
NOTATIONS["tuples in a vector"] = "[" + NOTATIONS["tuples"] + "]"


@pytest.mark.parametrize("notation", NOTATIONS)
def test_other_notations_say_the_same(file, notation):
    assert brief(read(file(NOTATIONS[notation]), "jepsen")) == BRIEF


def test_without_any_index_positions_are_the_order(file):
    text = "".join("{" + line.split(", ", 1)[1] + "\n" for line in LINES)
    assert brief(read(file(text), "jepsen")) == BRIEF


def test_sets_and_maps_as_values(file):
    path = file(
        '{:type :invoke, :process 0, :f :read}\n{:type :ok, :process 0, :f :read, :value #{1 [2 "a"] {:k 1}}}\n'
    )
    (operation,) = read(path, "jepsen").items
    assert operation.output == frozenset({1, (2, "a"), next(v for v in operation.output if isinstance(v, dict))})


def test_independent_keys(file):
    text = (
        "{:type :invoke, :process 0, :f :write, :value [7 1]}\n"
        "{:type :ok, :process 0, :f :write, :value [7 1]}\n"
        "{:type :invoke, :process 0, :f :cas, :value [8 [1 2]]}\n"
        "{:type :info, :process 0, :f :cas, :value :timed-out}\n"
    )
    history = read(file(text), "jepsen", independent=True)
    assert [(o.key, o.argument, o.output) for o in history.items] == [(7, 1, 1), (8, (1, 2), Keyword(":timed-out"))]
    with pytest.raises(HistoryError, match=r"history\.edn:1: --independent wants values \[key value\], not 1"):
        read(file(text.replace("[7 1]", "1")), "jepsen", independent=True)
    with pytest.raises(UsageError, match="--independent is for --format jepsen"):
        read(file(text), "porcupine", independent=True)


def test_a_process_that_invokes_again_leaves_its_operation_open(file):
    invoke = "{:type :invoke, :process 0, :f :read, :value nil}\n"
    history = read(file(invoke + invoke + invoke.replace("invoke", "ok")), "jepsen")
    assert [(o.type, o.answered, o.complete) for o in history.items] == [(Type.INFO, False, NEVER), (Type.OK, True, 2)]


FAULTS = {
    "a completion alone": (
        "{:type :ok, :process 3, :f :read, :value 1}",
        ":1: process 3 completes a read it never invoked",
    ),
    "type": ("{:type :okay, :process 3, :f :read}", ":1: :type is one of invoke, ok, fail, info, not 'okay'"),
    "no type": ("{:process 3, :f :read}", ":1: :type is one of invoke, ok, fail, info, not missing"),
    "index": ("{:type :ok, :index :a}", ":1: :index is an integer of 64 bits, not :a"),
    "no record": ("5", ":1: a record is a map, or [process type f value]; this is 5"),
    "edn": ("\n\n{:type :ok, :index 1/0}\n", ":3:20: 1/0 divides by zero"),
    "bracket": ("{:type :invoke}]\n{}", ":1:16: ] closes nothing"),
    "broken in the middle": (
        "{:type :invoke, :process 1\n{:type :invoke, :process 1}\n",
        ":1: the record is not finished",
    ),
    "broken in a vector": (
        "[{:type :invoke\n {:type :info}\n {:type :info}\n]\n",
        ":1: ] stands where what { began is",
    ),
    "broken in a vector, cut": ("[{:a [\n {:type :invoke}\n {:type :invoke}\n", ":1: the record is not finished"),
    "text behind the vector": ("[] 1", ":1: there is text behind the vector of records"),
    "json": ('{"type": "ok", "index": 1,}\n{}', ":1: JSON is malformed"),
    "json type": ('{"type": 1}', ":1: :type is one of"),
    "not UTF-8": (b"{:type :\xff}\n{}", ":1: byte 9 of the line is not UTF-8"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_files_are_named_with_line_and_fault(tmp_path, fault):
    text, words = FAULTS[fault]
    path = tmp_path / "history.edn"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(HistoryError) as caught:
        read(path, "jepsen")
    assert str(caught.value).startswith(f"{path}{words}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "count", "where"),
    [
        (REGISTER[:-20], 9, "the record that begins on line 10"),
        ("[" + REGISTER[:-20], 9, "the record that begins on line 10"),
        ("[" + REGISTER, 10, "before the vector's last bracket"),
        (NOTATIONS["json lines"][:-20], 9, "the record that begins on line 10"),
        ('{:type :info, :f "\u00e9'.encode()[:-1], 0, "the record that begins on line 1"),
    ],
)
def test_a_file_that_was_cut_off_says_so(tmp_path, text, count, where):
    path = tmp_path / "history.edn"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reader = EventReader(path)
    assert len(list(reader)) == count
    assert where in (reader.cut_off or "")


@pytest.mark.parametrize("text", ["", "\n ; nothing\n", "[]", "[ ; nothing\n]\n"])
def test_an_empty_history(file, text):
    history = read(file(text), "jepsen")
    assert (history.items, history.cut_off) == ([], None)


def test_usual_records_are_read_at_once():
    lines = [line for line in LINES if "nemesis" not in line and ":error" not in line]
    lines.append("{:index 9, :type :ok, :process 1, :f :cas, :value [7 [1 nil]]}")
    events, taken, refused = plain_text.take("\n".join(lines).encode(), np.arange(1, 9), json=False)
    assert (taken, refused) == (list(range(8)), [])
    assert events[-1] == event({"index": 9, "type": "ok", "process": 1, "f": "cas", "value": (7, (1, None))}, 8)


@pytest.mark.parametrize("blank", [", ", "\t", ",,", "  ", " ; of\n "])
def test_blanks_are_blanks_wherever_they_stand(file, blank):
    assert brief(read(file(REGISTER.replace(" ", blank, 3).replace("}\n", ", }\n")), "jepsen")) == BRIEF


def test_an_event_keeps_what_else_the_record_says():
    found = event({Keyword(":type"): Keyword(":ok"), Keyword(":node"): "n1", Keyword(":time"): -1}, 4)
    assert (found.extra, found.line, found.time_ns, found.f) == ({"node": "n1"}, 4, None, "")


def test_formats_are_named(file):
    path = file(REGISTER)
    assert plugins.names(plugins.FORMATS) == ["etcd-robustness", "jepsen", "jsonl", "openchaos", "porcupine"]
    with pytest.raises(
        UsageError, match="unknown format 'edn'; known: etcd-robustness, jepsen, jsonl, openchaos, porcupine"
    ):
        read(path, "edn")
    with pytest.raises(UsageError, match="a Kafka-style history is read with --format jepsen, not jsonl"):
        read_kafka(path, "jsonl")
    with pytest.raises(HistoryError, match="there is no such file"):
        read(path.parent / "other", "jepsen")


def test_json_over_several_lines(file):
    import json

    records = [json.loads(line) for line in NOTATIONS["json lines"].splitlines()]
    for text in (json.dumps(records, indent=2), "\n".join(json.dumps(record, indent=2) for record in records)):
        assert brief(read(file(text), "jepsen")) == BRIEF
    whole = "\n".join(json.dumps(record, indent=2) for record in records) + "\n"
    reader = EventReader(file(whole + '{\n  "type": '))
    assert len(list(reader)) == len(records)
    assert f"the record that begins on line {whole.count(chr(10)) + 1}" in (reader.cut_off or "")


@pytest.mark.parametrize("layout", ["lines", "vector", "spread"])
def test_what_a_nemesis_did_in_a_kafka_history_is_kept(tmp_path, layout):
    lines = [
        "{:index 0, :time 1, :process :nemesis, :type :info, :f :start, :value :majority}",
        "{:index 1, :time 2, :process 0, :type :invoke, :f :send, :value [[:send 0 1]]}",
        "{:index 2, :time 3, :process :nemesis, :type :info, :f :start, :value nil}",
        "{:index 3, :time 4, :process 0, :type :ok, :f :send, :value [[:send 0 [0 1]]]}",
    ]
    path = tmp_path / "history.edn"
    body = "\n".join(line.replace(", ", ",\n") if layout == "spread" else line for line in lines)
    path.write_text(f"[{body}]" if layout == "vector" else f"{body}\n")
    history = read_kafka(path, "jepsen")
    assert [(event.f, event.time_ns, event.process) for event in history.others] == [
        ("start", 1, "nemesis"),
        ("start", 3, "nemesis"),
    ]
    assert len(history.columns.ops.index) == 4
