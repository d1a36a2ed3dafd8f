"""Errors by node and fault, and what of them is refused by design, in histories of which every count is known."""

import random
from collections import Counter

import pytest

from chaos.core.series import REFUSED, REFUSED_WORD
from chaos.testing.history_files import ORIGIN_NS, write_run_folder
from chaos.testing.history_literal import Expected, FaultLiteral, HistoryLiteral, OpLiteral, RunLiteral, Sends
from checkers.engine import local_engine
from checkers.recovery.errors_by_node import MOST, NONE, OTHERS, Met, Seen, _bounded

NS = 1_000_000_000
NOT_MASTER, TOO_FEW, FULL = "rejected: not-master", "rejected: too-few-in-sync", "rejected: busy"
REFUSALS = (NOT_MASTER, TOO_FEW)


def send(at, sequence, **facts):
    return OpLiteral(send=f"1:{sequence}", at=(at, at + 0.01), **facts)


def judged(tmp_path, *ops, refusals=REFUSALS, faults=(), keys=1):
    literal = HistoryLiteral(
        name="x",
        rules=(1,),
        about="",
        ops=ops,
        faults=faults,
        run=RunLiteral(keys=keys, refusals=refusals),
        expect=Expected(valid=True),
    )
    write_run_folder(literal, tmp_path / "run")
    return local_engine.judge_folder(tmp_path / "run")


OPS = (
    OpLiteral(sends=Sends(start=0.0, count=30, offset=0, every_s=0.4)),
    send(1.0, 100, fail=NOT_MASTER, node="b2", client=1, pinned=True),
    send(2.0, 101, fail=NOT_MASTER, node="b2", client=1, pinned=True),
    send(3.0, 102, fail=TOO_FEW, node="b1", client=1, pinned=True),
    send(4.0, 103, fail=NOT_MASTER, node="b2"),
    send(5.0, 104, fail=FULL, node="b2", client=1, pinned=True),
    OpLiteral(send="1:105", at=(6.0,), info="no answer before the deadline", node=None, client=1, pinned=True),
    send(9.0, 106, fail=NOT_MASTER, node="b3", client=1, pinned=True),
)
FAULT = FaultLiteral(inject=2.5, heal=8.0)


def test_errors_are_counted_by_node_and_fault(tmp_path):
    results = judged(tmp_path, *OPS, faults=(FAULT,)).results
    told = [(one.error, one.type, one.node, one.fault, one.count, one.by_design) for one in results.errors]
    assert sorted(told, key=str) == sorted(
        [
            (NOT_MASTER, "fail", "b2", 1, 1, False),
            (FULL, "fail", "b2", 1, 1, False),
            (NONE, "info", "", 1, 1, False),
            (NOT_MASTER, "fail", "b2", None, 2, True),
            (TOO_FEW, "fail", "b1", 1, 1, True),
            (NOT_MASTER, "fail", "b3", None, 1, True),
        ],
        key=str,
    )
    assert [one.by_design for one in results.errors] == [False] * 3 + [True] * 3, "errors stand first"
    (twice,) = (one for one in results.errors if one.count == 2)
    assert (twice.first_ns - ORIGIN_NS, twice.last_ns - ORIGIN_NS) == (1 * NS, 2 * NS)


def test_refusals_by_design_are_no_errors_of_a_fault(tmp_path):
    assert judged(tmp_path / "a", *OPS, faults=(FAULT,)).results.faults[0].not_ok == 3
    assert judged(tmp_path / "b", *OPS, faults=(FAULT,), refusals=()).results.faults[0].not_ok == 5


def test_the_curves_tell_refusals_apart(tmp_path):
    series = judged(tmp_path, *OPS).series
    counts = {word: sum(row) for word, row in series.rate["send"].items()}
    assert counts == {"ok": 30, "fail": 2, "info": 1, REFUSED_WORD: 4}
    assert series.points.type.count(REFUSED) == 4
    answered = {word: sum(sum(row[1::2]) for row in rows) for word, rows in series.latencies["send"].items()}
    assert answered == {"ok": 30, "fail": 2, REFUSED_WORD: 4}, "what was never answered has no latency"


def test_a_system_that_names_none_refuses_nothing_by_design(tmp_path):
    judged_ = judged(tmp_path, *OPS, refusals=())
    assert not any(one.by_design for one in judged_.results.errors)
    assert REFUSED_WORD not in judged_.series.rate["send"]


@pytest.mark.parametrize("seed", range(5))
def test_keys_add_up_whatever_their_order(tmp_path, seed):
    """Two keys, drawn operations, counted once more in plain Python."""
    draw = random.Random(seed)
    ops, expected = [], Counter()
    for number in range(60):
        at, node = round(draw.uniform(0, 20), 2), draw.choice(("b1", "b2"))
        error, pinned = draw.choice((NOT_MASTER, FULL, "x")), draw.random() < 0.5
        ops.append(send(at, number, fail=error, node=node, to=number % 2, client=int(pinned), pinned=pinned))
        expected[error, node, 1 if 5 <= at < 12 else None, pinned and error == NOT_MASTER] += 1
    results = judged(tmp_path, *ops, faults=(FaultLiteral(inject=5.0, heal=12.0),), keys=2).results
    assert {(one.error, one.node, one.fault, one.by_design): one.count for one in results.errors} == dict(expected)


def test_what_is_rare_is_counted_together():
    pairs = [(Met(f"error {n}", 3, 0, 1, by_design=False), Seen(MOST + 50 - n, n, n)) for n in range(MOST + 50)]
    kept = _bounded(pairs)
    assert len(kept) == MOST + 1
    assert sum(seen.times for seen in kept.values()) == sum(seen.times for _, seen in pairs)
    (rest,) = (seen for met, seen in kept.items() if met.error == OTHERS)
    assert (rest.first_ns, rest.last_ns) == (MOST, MOST + 49)


def test_errors_are_counted_over_time_without_refusals_by_design(tmp_path):
    series = judged(tmp_path, *OPS).series
    assert sum(map(sum, series.errors.values())) == sum(
        sum(series.rate[f].get(kind, [])) for f in series.rate for kind in ("fail", "info") if f != "drain"
    )
    points = series.points
    assert {points.errors[number - 1] for number in points.error if number} >= set(series.errors)
    assert len(points.process) == len(points.key) == len(points.t_s)
    answered = {kind for by_type in series.nodes.values() for kind in by_type}
    assert REFUSED_WORD in answered
