"""Every anomaly of every model is told in a sentence, with a smallest sub-history that is itself judged to show it.

The sub-history is judged as users would: its operations, as ``--json`` gives them, are written into a file of their own
and checked with the same options.
"""

import json

import msgspec
import pytest
from kafka_histories_small import acked, history, polled
from repository import DATA

from checkers.imported.judge_file import judge
from checkers.imported.options import MODELS, TRANSACTIONAL, Question
from checkers.kafka import explain
from checkers.kafka.names import CYCLES, MISSED

NEVER_NAMED = {"G0-process", "G1c-process"}
"""Process order is part of real-time order, so these names do not occur (docs/reference/kafka.md)."""


def op(f, value, times, output=None, type_="ok", **extra):
    """A line of jsonl. ``times``: invoke and complete."""
    invoked, completed = times
    end = {} if completed is None else {"complete": completed}
    return {"f": f, "type": type_, "invoke": invoked, **end, "value": value, "output": output, **extra}


def appended(value, offset, times, type_="ok", process=0):
    return {
        "f": "append",
        "type": type_,
        "value": value,
        "offset": offset,
        "process": process,
        "invoke": times[0],
        "complete": times[1],
    }


def read(start, records, times, *, to_end=False, process=1):
    return {
        "f": "read",
        "type": "ok",
        "from": start,
        "to_end": to_end,
        "records": records,
        "process": process,
        "invoke": times[0],
        "complete": times[1],
    }


ADDS = [op("add", n, (10 * n, 10 * n + 5)) for n in range(1, 6)]
PUTS = [op("enqueue", n, (10 * n, 10 * n + 5)) for n in range(1, 6)]
KEPT = [appended(n, n, (10 * n, 10 * n + 5)) for n in range(5)]

BALANCES = [op("read", None, (10 * n, 10 * n + 5), {"a": 10 - n, "b": n}) for n in range(5)]

OBJECTS = [
    (
        "register",
        "nonlinearizable",
        [op("write", n, (10 * n, 10 * n + 5)) for n in range(5)] + [op("read", None, (50, 51), 2)],
        {},
    ),
    (
        "cas-register",
        "nonlinearizable",
        [op("write", n % 2, (10 * n, 10 * n + 5)) for n in range(5)] + [op("cas", [1, 2], (50, 51))],
        {},
    ),
    (
        "multi-register",
        "nonlinearizable",
        [op("txn", [["w", "x", n], ["w", "y", n]], (10 * n, 10 * n + 5)) for n in range(5)]
        + [op("txn", [["r", "x", None], ["r", "y", None]], (50, 51), [["r", "x", 4], ["r", "y", 3]])],
        {},
    ),
    (
        "kv",
        "nonlinearizable",
        [
            op("put", "a", (0, 1)),
            op("append", "b", (2, 3)),
            op("get", None, (4, 5), "ab"),
            op("get", None, (6, 7), "a"),
        ],
        {},
    ),
    (
        "mutex",
        "nonlinearizable",
        [
            op("acquire", None, (0, 1)),
            op("release", None, (2, 3)),
            op("acquire", None, (4, 5)),
            op("acquire", None, (6, 7)),
        ],
        {},
    ),
    ("fifo-queue", "nonlinearizable", [*PUTS, op("dequeue", None, (60, 61), 2), op("dequeue", None, (62, 63), 1)], {}),
    (
        "set",
        "nonlinearizable",
        [*ADDS, op("read", None, (60, 61), [1, 2]), op("read", None, (62, 63), [1])],
        {"linearizable": True},
    ),
    ("set", "lost-write", [*ADDS, op("read", None, (60, 61), [1, 2, 3, 4])], {}),
    ("set", "phantom", [*ADDS, op("read", None, (60, 61), [1, 2, 3, 4, 5, 9])], {}),
    (
        "set-full",
        "lost-write",
        [*ADDS, op("read", None, (60, 61), [1, 2, 3, 4, 5]), op("read", None, (62, 63), [1, 2, 3, 4])],
        {},
    ),
    (
        "set-full",
        "stale-read",
        [*ADDS, op("read", None, (60, 61), [1, 2, 3, 4]), op("read", None, (62, 63), [1, 2, 3, 4, 5])],
        {"linearizable": True},
    ),
    ("set-full", "duplicate", [*ADDS, op("read", None, (60, 61), [1, 2, 3, 4, 5, 5])], {"strict": True}),
    ("set-full", "phantom", [*ADDS, op("read", None, (60, 61), [1, 2, 3, 4, 5, 9])], {"strict": True}),
    (
        "set-full",
        "G1a",
        [*ADDS, op("add", 6, (56, 57), type_="fail"), op("read", None, (60, 61), [1, 2, 3, 4, 5, 6])],
        {"strict": True},
    ),
    ("queue", "nonlinearizable", [*PUTS, op("dequeue", None, (60, 61), 9)], {"linearizable": True}),
    ("queue", "phantom", [*PUTS, op("dequeue", None, (60, 61), 9)], {}),
    ("queue", "duplicate", [*PUTS, op("dequeue", None, (60, 61), 3), op("dequeue", None, (62, 63), 3)], {}),
    ("total-queue", "lost-write", [*PUTS, op("drain", None, (60, 61), [1, 2, 3, 4])], {}),
    ("total-queue", "phantom", [*PUTS, op("drain", None, (60, 61), [1, 2, 3, 4, 5, 9])], {}),
    ("total-queue", "duplicate", [*PUTS, op("drain", None, (60, 61), [1, 2, 3, 4, 5, 5])], {"strict": True}),
    ("counter", "out-of-bounds", [*ADDS, op("read", None, (60, 61), 8)], {}),
    ("counter", "out-of-bounds", [*ADDS[:4], op("read", None, (60, 61), 16)], {}),
    ("unique-ids", "duplicate", [op("generate", None, (n, n), n % 7) for n in range(8)], {}),
    ("bank", "wrong-total", [*BALANCES, op("read", None, (60, 61), {"a": 5, "b": 4})], {"init": 10}),
    ("bank", "wrong-total", [*BALANCES, op("read", None, (60, 61), {"a": 5, "b": 4})], {}),
    ("bank", "nil-balance", [*BALANCES, op("read", None, (60, 61), {"a": 10, "b": None})], {}),
    ("bank", "negative-balance", [*BALANCES, op("read", None, (60, 61), {"a": -1, "b": 11})], {}),
    (
        "long-fork",
        "long-fork",
        [
            *(op("txn", [["w", n, 1]], (n, n + 50)) for n in range(4)),
            *(op("txn", None, (60 + n, 90), [["r", 0, None], ["r", 1, 1]]) for n in range(2)),
            op("txn", None, (64, 90), [["r", 1, None], ["r", 0, 1]]),
        ],
        {},
    ),
    (
        "monotonic",
        "key-order-cycle",
        [
            *(op("read", None, (n, 90), {"x": n, "y": n}) for n in range(4)),
            op("read", None, (5, 90), {"x": 9, "y": 8}),
            op("read", None, (6, 90), {"x": 8, "y": 9}),
        ],
        {},
    ),
    (
        "order",
        "order",
        [
            *PUTS,
            op("dequeue", None, (60, 61), 1),
            op("dequeue", None, (62, 63), 3),
            op("dequeue", None, (64, 65), 2),
            op("dequeue", None, (66, 67), 4),
        ],
        {},
    ),
    ("log", "duplicate", [*KEPT, read(0, [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [6, 2]], (60, 61))], {}),
    ("log", "inconsistent-offsets", [*KEPT, appended(9, None, (1, None), "info"), read(1, [[1, 9]], (60, 61))], {}),
    ("log", "phantom", [*KEPT, read(5, [[7, 9]], (60, 61))], {}),
    ("log", "G1a", [*KEPT, appended(9, None, (50, 51), "fail"), read(5, [[7, 9]], (60, 61))], {}),
    ("log", "nonlinearizable-offset", [*KEPT, appended(9, 3, (50, 51), process=3)], {}),
    ("log", "stale-tail", [*KEPT, read(0, [[0, 0], [1, 1], [2, 2], [3, 3]], (60, 61), to_end=True)], {}),
    ("log", "nonmonotonic-send", [*KEPT[:3], appended(8, 9, (50, 55)), appended(9, 8, (56, 57))], {}),
    ("log", "int-nonmonotonic-poll", [*KEPT, read(0, [[0, 0], [2, 2], [1, 1]], (60, 61))], {}),
    ("log", "nonmonotonic-poll", [*KEPT, read(2, [[1, 1], [2, 2]], (60, 61))], {}),
    ("log", "int-poll-skip", [*KEPT, read(0, [[0, 0], [1, 1], [3, 3]], (60, 61))], {}),
    ("log", "poll-skip", [*KEPT, read(0, [[1, 1], [2, 2]], (60, 61))], {}),
]


def judged(path, rows, question):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return judge(path, question, "local")


def shown(results, name):
    """The operations that ``--json`` shows with an anomaly, and its sentence."""
    example = msgspec.to_builtins(results.anomalies[name].examples[0])
    assert example["sentence"]
    assert example["ops"]
    return example["ops"]


def as_line(row):
    """A shown operation as a line of jsonl; of an object, what was asked for is its value."""
    row = {name: value for name, value in row.items() if value is not None or name == "output"}
    return {**row, "value": row.pop("argument", None)} if "output" in row else row


@pytest.mark.parametrize(("model", "name", "rows", "options"), OBJECTS, ids=lambda one: one if type(one) is str else "")
def test_every_anomaly_of_an_object_is_shown_by_a_history_of_its_own(tmp_path, model, name, rows, options):
    question = Question(format="jsonl", model=model, **options)
    results = judged(tmp_path / "whole.jsonl", rows, question)
    assert results.valid is False
    ops = shown(results, name)
    alone = judged(tmp_path / "shown.jsonl", [as_line(row) for row in ops], question)
    assert alone.valid is False
    assert name in alone.anomalies
    assert len(ops) < len(rows) or len(rows) <= 5, "what does not matter is left out"


TOGETHER = {"set", "set-full", "queue", "total-queue", "counter", "unique-ids", "bank", "long-fork", "monotonic"}


@pytest.mark.parametrize(
    ("model", "rows", "options"),
    [
        *((model, rows, options) for model, _, rows, options in OBJECTS if model in TOGETHER),
        ("counter", [*ADDS, op("read", None, (60, 61), 15)], {}),
    ],
)
def test_in_some_models_a_key_names_no_object_of_its_own(tmp_path, model, rows, options):
    question = Question(format="jsonl", model=model, **options)
    keyed = [{**row, "key": number} for number, row in enumerate(rows)]
    whole = judged(tmp_path / "whole.jsonl", rows, question).anomalies
    of_keys = judged(tmp_path / "keyed.jsonl", keyed, question).anomalies
    assert {name: one.count for name, one in of_keys.items()} == {name: one.count for name, one in whole.items()}


def test_all_models_are_here():
    assert {model for model, *_ in OBJECTS} == set(MODELS) - {"kafka", *TRANSACTIONAL}


DRAWN = {
    "phantom": history(acked(0, "a", 0, 1), polled(1, {"a": [[0, 1]]}), polled(0, {"a": [[1, 7]]})),
    "G1c-realtime": history(acked(0, "b", 0, 1), polled(1, {"a": [[0, 1]]}), acked(0, "a", 0, 1)),
}
DRAWN["strong-PL-2-cycle-exists"] = DRAWN["G1c-realtime"]
SAMPLES = {
    "G0": "k0029",
    "PL-1-cycle-exists": "k0029",
    "G0-realtime": "k0049",
    "strong-PL-1-cycle-exists": "k0049",
    "G1c": "k0058",
    "PL-2-cycle-exists": "k0058",
    "G1a": "k0021",
    "duplicate": "k0021",
    "inconsistent-offsets": "k0021",
    "int-nonmonotonic-poll": "k0007",
    "int-poll-skip": "k0021",
    "lost-write": "k0021",
    "nonmonotonic-poll": "k0021",
    "precommitted-read": "k0021",
    "int-nonmonotonic-send": "k0043",
    "int-send-skip": "k0029",
    "nonlinearizable-offset": "k0049",
    "nonmonotonic-send": "k0049",
    "poll-skip": "k0047",
    "stale-tail": "k0000",
    "unseen": "k0004",
    "empty-transaction-graph": "k0004",
}


@pytest.mark.parametrize("name", [*SAMPLES, *DRAWN])
def test_every_anomaly_of_a_kafka_history_is_shown_by_a_history_of_its_own(tmp_path, name):
    ww_deps = name.startswith(("G0", "PL-1", "strong-PL-1"))
    question = Question(format="jepsen", model="kafka", ww_deps=ww_deps, strict=True)
    if name in SAMPLES:
        results = judge(DATA / "kafka" / f"{SAMPLES[name]}.edn", question, "local")
    else:
        results = judged(tmp_path / "whole.json", DRAWN[name], question)
    ops = shown(results, name)
    alone = judged(tmp_path / "shown.json", ops, question)
    assert name in alone.anomalies
    assert alone.anomalies[name].allowed or alone.valid is False
    if name in CYCLES:
        assert "; " in results.anomalies[name].examples[0].sentence, "every edge has its reason"


def test_all_names_of_kafka_histories_are_here():
    every = {*CYCLES, *MISSED, *explain._SENTENCES, *explain._RULED_OUT}
    assert every - NEVER_NAMED == {*SAMPLES, *DRAWN}
