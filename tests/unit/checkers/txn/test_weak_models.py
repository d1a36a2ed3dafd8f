"""Read atomic and causal consistency in histories of a few lines: which axiom each breaks, and in which words."""

import pytest
from live_transactions import as_edn, verdict
from txn_literals import FAIL, INFO, r, t

from checkers.imported.options import Question
from checkers.imported.transactions import judge as judge_file
from checkers.txn.forced_order import OutOfStepsError, of_causal, order_of
from checkers.txn.judge import Options, judge
from checkers.txn.models import COMMIT_ORDER_CYCLE, boundary
from checkers.txn.registers import Registers
from checkers.txn.transactions import columns
from checkers.txn.visibility import of_registers

ATOMIC, CERONE, CAUSAL = COMMIT_ORDER_CYCLE
EVERY = {ATOMIC, CERONE, CAUSAL}

FOUR = [r("wx1 wy1", 0, 90), r("wx2 wy2", 1, 91), r("rx1 ry2", 2, 92), r("rx2 ry1", 3, 93)]
HISTORIES = [
    ("four transactions without an order", FOUR, EVERY),
    ("one reader alone says both", FOUR[:3], EVERY),
    ("half of a transaction, the other half not there yet", [r("wx1 wy1", 0, 9), r("rx1 ry", 1, 8)], EVERY),
    (
        "half of a transaction, the other half replaced",
        [r("wx1 wy1", 0, 9), r("rx1 wx2 wy2", 1, 8), r("rx2 ry1", 2, 7)],
        EVERY,
    ),
    (
        "who answers a message is seen without it",
        [r("wx1", 0, 9), r("rx1 wy1", 1, 8), r("ry1 rx", 2, 7)],
        {CERONE, CAUSAL},
    ),
    (
        "the same over a longer way, and the message was replaced",
        [r("wx1", 0, 9), r("rx1 wx2", 1, 8), r("rx2 wy1", 2, 7), r("ry1 wz1", 3, 6), r("rz1 rx1", 4, 5)],
        {CERONE, CAUSAL},
    ),
    (
        "a process that wrote twice is seen out of its order",
        [r("wx1", 0, 1, 7), r("wy1", 2, 3, 7), r("ry1 rx", 4, 5, 8)],
        {CAUSAL},
    ),
    ("a process does not see what it wrote", [r("wx1", 0, 1, 7), r("rx", 2, 3, 7)], {CAUSAL}),
    (
        "a process reads an older value than before",
        [r("wx1", 0, 9, 1), r("rx1 wx2", 1, 8, 2), r("rx2", 2, 3, 3), r("rx1", 4, 5, 3)],
        {CAUSAL},
    ),
    ("two read each other", [r("wx1 ry1", 0, 9), r("wy1 rx1", 1, 8)], EVERY),
    ("everything in order", [r("wx1 wy1", 0, 1), r("rx1 wx2", 2, 3), r("rx2 ry1", 4, 5)], set()),
    ("write skew", [r("rx wy1", 0, 9), r("ry wx1", 1, 8), r("rx1 ry1", 10, 11)], set()),
    ("a long fork", [r("wx1", 0, 9), r("wy1", 1, 8), r("rx1 ry", 2, 7), r("ry1 rx", 3, 6)], set()),
    ("two updates of one state", [r("wx1", 0, 1), r("rx1 wx2", 2, 9), r("rx1 wx3", 3, 8), r("rx3", 10, 11)], set()),
    ("a stale read of another process", [r("wx1", 0, 1, 7), r("rx", 2, 3, 8), r("rx1", 4, 5, 9)], set()),
]


def found(rows, model, *, keys="rw-register"):
    """The verdict under one model, and the names of what it forbids."""
    verdict = judge(columns(rows), keys, Options(models=(model,)))
    return verdict.valid, set(verdict.anomalies)


@pytest.mark.parametrize("model", COMMIT_ORDER_CYCLE)
@pytest.mark.parametrize(("what", "rows", "broken"), HISTORIES, ids=[one[0] for one in HISTORIES])
def test_each_axiom_has_a_history_that_breaks_it_alone(what, rows, broken, model):
    valid, names = found(rows, model)
    assert valid is (model not in broken)
    assert (COMMIT_ORDER_CYCLE[model] in names) == (model in broken)


def as_lists(rows):
    """Blind writes of 1, 2, … to registers as appends; who read a value read all before it."""
    texts = []
    for one in rows:
        words = []
        for micro in one.micros:
            value = "" if micro.value is None else "".join(map(str, range(1, micro.value + 1)))
            words.append(f"a{micro.key}{micro.value}" if micro.kind.word == "w" else f"r{micro.key}{value}")
        texts.append(t(" ".join(words), one.invoke, one.complete, one.process))
    return texts


@pytest.mark.parametrize("model", COMMIT_ORDER_CYCLE)
@pytest.mark.parametrize("what", [2, 4, 5, 6, 7, 8, 10, 12, 14], ids=lambda at: HISTORIES[at][0])
def test_lists_break_them_likewise(what, model):
    _, rows, broken = HISTORIES[what]
    valid, names = found(as_lists(rows), model, keys="list-append")
    assert valid is (model not in broken)
    assert (COMMIT_ORDER_CYCLE[model] in names) == (model in broken)


@pytest.mark.parametrize(
    "model", ["serializable", "snapshot-isolation", "prefix", "parallel-snapshot-isolation", "update-atomic"]
)
def test_models_that_only_imply_them_are_judged_as_the_reference_does(model):
    assert found(FOUR, model) == (True, set())
    verdict = judge(columns(FOUR), "rw-register", Options(models=(model, ATOMIC)))
    assert set(verdict.anomalies) == {"read-atomic-cycle"}


def test_the_smallest_circle_is_told_with_a_reason_for_each_step():
    verdict = judge(columns(FOUR), "rw-register", Options(models=(ATOMIC,)))
    (one,) = verdict.anomalies["read-atomic-cycle"].told
    assert {(step.before, step.after, step.kind) for step in one.steps} == {(0, 1, "ww"), (1, 0, "ww")}
    assert one.witnesses
    assert (
        "transaction 2 read key x as 1 of transaction 0 and saw transaction 1, which wrote key x as well "
        "(transaction 2 read key y as 2, which transaction 1 had written), so transaction 1 comes before transaction 0"
    ) in one.sentence
    assert one.sentence.endswith(": so both come before the other")
    assert verdict.ruled_out.weakest == ("read-atomic",)


def test_what_a_transaction_saw_over_others_is_told_as_a_way():
    rows = HISTORIES[5][1]
    (one,) = judge(columns(rows), "rw-register", Options(models=(CERONE,))).anomalies["causal-cerone-cycle"].told
    assert set(one.transactions) == {0, 1}
    assert (
        "transaction 4 read key x as 1 of transaction 0 and saw transaction 1, which wrote key x as well "
        "(transaction 2 read key x as 2, which transaction 1 had written, "
        "transaction 3 read key y as 1, which transaction 2 had written "
        "and transaction 4 read key z as 1, which transaction 3 had written), "
        "so transaction 1 comes before transaction 0"
    ) in one.sentence
    assert set(one.witnesses) == {2, 3, 4}


def test_a_missed_write_closes_the_circle_by_itself():
    (one,) = (
        judge(columns(HISTORIES[4][1]), "rw-register", Options(models=(CERONE,))).anomalies["causal-cerone-cycle"].told
    )
    assert [step.kind for step in one.steps].count("rw") == 1
    assert "transaction 2 read key x as nil, without 1, which transaction 0 had written" in one.sentence


def test_every_component_counts():
    rows = [*FOUR[:3], r("wu1 wv1", 20, 29), r("ru1 rv", 21, 28)]
    verdict = judge(columns(rows), "rw-register", Options(models=(ATOMIC,)))
    assert verdict.anomalies["read-atomic-cycle"].count == 2


def test_writes_of_which_nobody_knows_take_part_where_they_were_read():
    half = r("rx1 ry", 1, 8)
    assert found([r("wx1 wy1", 0, 9, kind=INFO), half], ATOMIC)[0] is False
    assert found([r("wx1 wy1", 0, 9, kind=INFO), r("wx2", 1, 2), r("rx2 ry", 3, 4)], ATOMIC) == (True, set())
    assert found([r("wx1 wy1", 0, 9, kind=FAIL), r("wx2", 1, 2), r("rx2 ry", 3, 4)], ATOMIC) == (True, set())


def test_what_a_process_ran_behind_one_in_doubt_may_have_come_first():
    first = [r("wx1", 0, 9, 7, kind=INFO), r("wy1", 10, 11, 7), r("rx1", 12, 13)]
    assert found([*first, r("ry1 rx", 14, 15)], CAUSAL)[0] is True
    before = [r("wy1", 0, 1, 7), r("wx1", 2, 3, 7, kind=INFO)]
    assert found([*before, r("rx1 ry", 4, 5)], CAUSAL)[0] is False


def test_processes_may_disagree_under_causal():
    """x is written twice, and two processes that saw both read different values last, each for ever."""
    rows = [
        *(r("wx1", 0, 9, 1), r("wx2", 1, 8, 2)),
        *(r("rx1", 10, 11, 3), r("rx2", 12, 13, 3)),
        *(r("rx2", 10, 14, 4), r("rx1", 15, 16, 4)),
    ]
    verdict = judge(columns(rows), "rw-register", Options(models=(CAUSAL,)))
    assert (verdict.valid, verdict.anomalies) == ("unknown", {})
    assert "no one order" in verdict.reason
    back = [r("rx1", 10, 11, 3), r("rx2", 12, 13, 3), r("rx1", 14, 15, 3)]
    assert found([*rows[:2], *back], CAUSAL)[0] is False, "one process cannot see both orders"


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("G1a", [r("wx1", 0, 1, kind=FAIL), r("rx1", 2, 3)]),
        ("G1b", [r("wx1 wx2", 0, 1), r("rx1", 2, 3), r("rx2", 2, 3)]),
        ("phantom", [r("wx1", 0, 1), r("rx1", 2, 3), r("rx7", 4, 5)]),
        ("internal", [r("wx1", 0, 1), r("rx1", 2, 3), r("wx2 rx1", 4, 5)]),
        ("future-read", [r("wx1", 0, 1), r("rx1", 2, 3), r("rx2 wx2", 4, 5)]),
    ],
)
def test_what_a_transaction_shows_by_itself_breaks_causal_by_its_name(name, rows):
    valid, names = found(rows, CAUSAL)
    assert (valid, name in names) == (False, True)
    assert CAUSAL not in (*boundary([name]).weakest, *boundary([name]).others), "the lattice is that of the reference"


def test_lists_whose_reads_disagree_do_not_decide_causal():
    rows = [t("ax1", 0, 9), t("ax2", 1, 8), t("rx1", 2, 3), t("rx2", 4, 5)]
    verdict = judge(columns(rows), "list-append", Options(models=(CAUSAL,)))
    assert (verdict.valid, verdict.anomalies) == ("unknown", {})
    assert "disagree" in verdict.reason


def test_a_search_that_is_given_up_finds_nothing():
    seen = of_registers(Registers(columns(HISTORIES[5][1])))
    order = order_of(seen, seen.arrows)
    assert len(of_causal(seen, seen.arrows, order).row)
    with pytest.raises(OutOfStepsError):
        of_causal(seen, seen.arrows, order, 3)


@pytest.mark.parametrize("model", COMMIT_ORDER_CYCLE)
@pytest.mark.parametrize("at", range(len(HISTORIES)))
def test_a_run_and_a_file_have_one_verdict(at, model, tmp_path):
    _, rows, broken = HISTORIES[at]
    row = verdict(tmp_path, rows, lists=False, consistency_models=(model,))
    file = tmp_path / "history.edn"
    file.write_text(as_edn(rows))
    told = judge_file(file, Question(format="jepsen", model="rw-register", consistency_models=(model,)), "local")
    name = COMMIT_ORDER_CYCLE[model]
    assert (row.valid, told.valid) == (model not in broken,) * 2
    assert (name in row.anomalies, name in told.anomalies) == (model in broken,) * 2
    if model in broken:
        assert [edge.reason for edge in row.anomalies[name].examples[0].circle]
        assert not row.anomalies[name].allowed
