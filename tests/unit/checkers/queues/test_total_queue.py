"""Queues without offsets: against brute force, and each mutation of a good history under its right name."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from coordination_histories import row_of, write_folder

from chaos.core.op import Type
from chaos.models.queues.total_queue import F
from checkers.engine import local_engine
from checkers.history.check_input import QueueShard
from checkers.queues.total_queue import _Queue

CONTEXT = SimpleNamespace(
    timeline=SimpleNamespace(last_heal_ns=lambda: 0, nodes_left=frozenset),
    run=SimpleNamespace(promises=SimpleNamespace(redelivered_within_s=0.0)),
    streams=(SimpleNamespace(ended=True),),
    whole=True,
)
KINDS = (Type.OK, Type.FAIL, Type.INFO)


def drawn(rng):
    """Operations as (f, type, value, answer, asked, answered, deadline), in order of asking."""
    out = []
    for value in range(rng.randrange(4)):
        asked = rng.randrange(20)
        out.append((F.ENQUEUE, rng.choice(KINDS), value, -1, asked, asked + rng.randrange(1, 4)))
    for _ in range(rng.randrange(6)):
        asked, kind = rng.randrange(5, 30), rng.choice(KINDS)
        answer = rng.choice((0, 1)) if kind is Type.OK else rng.choice((-1, 1))
        out.append(
            (F.DEQUEUE, kind, rng.randrange(5) if answer == 1 else 0, answer, asked, asked + rng.randrange(1, 4))
        )
    return sorted(out, key=lambda one: one[4])


def queue_of(rows):
    columns = [np.array([one[place] for one in rows], np.int64) for place in range(6)]
    names = ("f", "type", "value", "answer", "invoke_ns", "complete_ns")
    operations = dict(zip(names, columns, strict=True)) | {"deadline_ns": columns[5]}
    operations["node"] = np.zeros(len(rows), np.int64)
    return _Queue(QueueShard(0, operations, {}), CONTEXT)


def by_brute_force(rows):
    """(lost, phantoms, failed, after ack): values."""
    sent = {value: (kind, asked, answered) for f, kind, value, _, asked, answered in rows if f is F.ENQUEUE}
    given = [(value, kind, asked, answered) for f, kind, value, told, asked, answered in rows if told == 1]
    empty = [asked for f, kind, _, told, asked, _ in rows if told == 0 and kind is Type.OK]
    last = max(empty, default=-1)
    out = [ended for f, kind, _, told, _, ended in rows if f is F.DEQUEUE and kind is Type.INFO and told == -1]
    knows = all(ended < last for ended in out)
    values = {value for value, *_ in given}
    lost = {
        value
        for value, (kind, _, answered) in sent.items()
        if kind is Type.OK and answered < last and knows and value not in values
    }
    phantoms = {value for value, _, _, answered in given if value not in sent or sent[value][1] > answered}
    failed = {value for value in values if value in sent and sent[value][0] is Type.FAIL}
    again = {
        value
        for value, kind, _, answered in given
        for other, _, asked, _ in given
        if value == other and kind is Type.OK and answered < asked
    }
    return lost, phantoms, failed, again


@pytest.mark.broad
def test_every_question_as_by_brute_force():
    rng, shown = random.Random(55), set()
    for _ in range(5_000):
        rows = drawn(rng)
        queue = queue_of(rows)
        found = [set(queue.value[some].tolist()) for some in (queue.lost(), queue.phantoms(), queue.failed())]
        found.append({int(queue.value[late]) for _, late in queue.after_ack()})
        expected = by_brute_force(rows)
        assert tuple(found) == expected, rows
        shown |= {place for place, values in enumerate(expected) if values}
        assert all(queue.ops.complete[early] < queue.ops.invoke[late] for early, late in queue.after_ack())
    assert shown == {0, 1, 2, 3}


def good():
    ops = []
    for number in range(10):
        at = float(number)
        ops.append({"at": [at, at + 0.1], "enqueue": {"value": number}, "ok": None})
        ops.append({"at": [at + 0.4, at + 0.5], "dequeue": None, "given": {"value": number}, "ok": None})
    return [*ops, {"at": [20.0, 20.1], "dequeue": None, "given": {}, "ok": None}]


def no_mutation(ops):
    return ops


def never_delivered(ops):
    ops[7]["given"] = {}
    return ops


def delivered_once_more(ops):
    return [*ops, {"at": [15.0, 15.1], "dequeue": None, "given": {"value": 3}, "ok": None}]


def out_of_nowhere(ops):
    return [*ops, {"at": [15.0, 15.1], "dequeue": None, "given": {"value": -1}, "ok": None}]


def refused(ops):
    del ops[6]["ok"]
    return [*ops[:6], ops[6] | {"fail": "returned"}, *ops[7:]]


@pytest.mark.parametrize(
    ("mutate", "name"),
    [
        (no_mutation, None),
        (never_delivered, "lost-write"),
        (delivered_once_more, "redelivered-after-ack"),
        (out_of_nowhere, "phantom"),
        (refused, "G1a"),
    ],
)
def test_each_mutation_has_its_name(mutate, name, tmp_path):
    literal = {"name": "made", "model": "total-queue", "workload": "total-queue", "ops": mutate(good())}
    row = row_of(local_engine.judge(write_folder(literal, tmp_path / "run")), "total-queue")
    assert {kind: one.count for kind, one in row.anomalies.items()} == ({name: 1} if name else {})
    assert row.valid is (name is None)
