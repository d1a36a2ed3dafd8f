"""Examples of objects and transactions name the node that answered and the fault in force, as those of logs do."""

import msgspec
import pytest
from command_lines import said_here
from coordination_histories import row_of, write_folder
from recorded_objects import COUNTER, LOST_SET, REGISTER, STALE_SET, TRANSACTIONS

from chaos.core.op import Type
from checkers.engine import local_engine
from checkers.objects.calls import Call
from checkers.objects.live_examples import blamed_call

LATE = "b2, cut off by fault 1 (partition) at 2.0 s, answered"
CASES = {
    "register": (REGISTER, "nonlinearizable", 4.0, f"after the other; {LATE} read 1 (op 5, process 5) at 4.0 s"),
    "set, stale": (STALE_SET, "stale-read", 4.0, f"known to be there; {LATE} read [1] (op 3, process 3) at 4.0 s"),
    "set, lost": (LOST_SET, "lost-write", 1.0, "b2 answered at 1.1 s, and was cut off by fault 1 (partition) at 2.0 s"),
    "counter": (COUNTER, "out-of-bounds", 4.0, f"{LATE} at 4.0 s"),
    "transactions": (TRANSACTIONS, "G-single-item-realtime", 4.0, f"; {LATE} transaction 3 at 4.0 s"),
}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    literal, anomaly, at_s, words = CASES[request.param]
    return local_engine.judge(write_folder(literal, tmp_path / "run")), literal, anomaly, at_s, words


def test_sentence_headline_and_example_name_node_and_fault(case):
    results, literal, anomaly, at_s, words = case
    first = row_of(results, literal["check"]).anomalies[anomaly].examples[0]
    assert (first.node, first.fault) == ("b2", 1)
    assert first.at_ns == 10**9 + round(at_s * 10**9), "where `chaos show --around` finds the operation"
    assert words in first.sentence
    assert words in results.sentence
    assert (results.headline.anomaly, results.headline.nodes, results.headline.fault) == (anomaly, ("b2",), 1)


def test_each_operation_says_who_asked_whom_for_what(case):
    results, literal, anomaly, at_s, _ = case
    first, *others = row_of(results, literal["check"]).anomalies[anomaly].examples[0].ops
    assert (first["node"], first["invoke_s"]) == ("b2", at_s), "the one that was answered wrongly comes first"
    assert others
    for op in (first, *others):
        assert op["client"] in (3, 4)
        assert {"op", "key", "what", "type", "error", "complete_s"} <= op.keys()


def test_every_stale_element_is_told_with_the_read_that_missed_it(tmp_path):
    row = row_of(local_engine.judge(write_folder(STALE_SET, tmp_path / "run")), "set")
    examples = row.anomalies["stale-read"].examples
    assert [(one.node, one.ops[0]["output"]) for one in examples] == [("b2", [1]), ("b2", [1])]


def test_the_order_of_the_others_is_told(tmp_path):
    row = row_of(local_engine.judge(write_folder(REGISTER, tmp_path / "run")), "register")
    (example,) = row.anomalies["nonlinearizable"].examples
    by_number = {op["op"]: op for op in example.ops}
    assert len(by_number) == len(example.ops), "each has a number of its own"
    assert example.order
    assert example.ops[0]["op"] not in example.order
    assert [by_number[number]["what"] for number in example.order] == ["write k4 1", "write k4 2"]


def test_of_an_addition_in_doubt_whoever_was_told_that_it_is_there_is_named(tmp_path):
    *ops, last = LOST_SET["ops"]
    seen = {"at": [1.5, 1.6], "client": 3, "node": "b1", "read": None, "given": {"elements": [1]}, "ok": None}
    doubtful = {**{name: one for name, one in ops[0].items() if name != "ok"}, "info": "no answer"}
    literal = {**LOST_SET, "ops": [doubtful, seen, *ops[1:], last]}
    (example,) = (
        row_of(local_engine.judge(write_folder(literal, tmp_path / "run")), "set").anomalies["lost-write"].examples
    )
    assert "later reads; b1 answered read [1] (op 1, process 1) at 1.6 s" in example.sentence


def test_of_an_addition_alone_the_addition_is_told(tmp_path):
    add = Call(0, 0, "add", 1, None, Type.INFO, 0, 1)
    assert blamed_call("lost-write", (add,)) is add
    assert blamed_call("stale-read", (add,)) is add
    read = msgspec.structs.replace(add, f="read", argument=None, output=[2], outcome=Type.OK)
    later = msgspec.structs.replace(read, output=[1, 2])
    assert blamed_call("stale-read", (add, later, read)) is read
    assert blamed_call("lost-write", (add, later, read)) is later
    assert blamed_call("phantom", (read, add)) is read


def test_the_history_around_an_example_marks_the_operation_with_its_node(case, tmp_path):
    _, _, anomaly, at_s, _ = case
    code, out, _ = said_here("show", str(tmp_path / "run"), "--around", anomaly, "--context", "9")
    assert code == 0
    (marked,) = [line for line in out.splitlines() if line.startswith(">")]
    assert marked.split()[1] == f"{at_s:.3f}"
    assert marked.split()[-1] == "b2"
    assert "partition" in out
