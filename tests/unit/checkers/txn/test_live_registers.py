"""Long forks, registers that grow and groups of registers: from the recorder to the verdict."""

import random

import pytest
from live_transactions import as_edn, context_of, recorded, shard_of
from txn_literals import FAIL, INFO, r

from chaos.storage.runinfo import Promises
from checkers.engine.installed_checks import check_named
from checkers.imported.objects import judge as judge_file
from checkers.imported.options import Question


def row_of(folder, name, rows, **changes):
    """The row of a check on literals that were recorded by a run of its workload."""
    recorded(folder, rows, lists=False)
    context, keys = context_of(folder, workload=name, **changes)
    check = check_named(name)
    assert check.applies(context) is None
    (summary,) = (check.examine(shard_of(folder, context, key), context) for key in keys)
    return check.conclude(summary, context)


def serial(rng, texts, *, gap=2):
    """Transactions of an order, each at a moment within its time; times overlap."""
    return [r(text, 10 * at + rng.randrange(4), 10 * at + 6 + rng.randrange(8)) for at, text in enumerate(texts)]


GOOD = {
    "long-fork": ["rx ry rz", "wx1", "rx1 ry rz", "wy1", "rx1 ry1 rz", "wz1", "rx1 ry1 rz1"],
    "monotonic": ["wx1", "ry rx1", "wy2 rx1", "rx1 ry2", "wx5 ry2", "wx9", "rx9 ry2"],
    "multi-register": ["wx1 wy2", "rx1 ry2", "wx3 ry2", "rz rx3", "wz4 wy5 rx3", "rx3 ry5 rz4"],
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("seed", range(5))
def test_what_has_an_order_is_right(name, seed, tmp_path):
    row = row_of(tmp_path, name, serial(random.Random(seed), GOOD[name]))
    assert (row.valid, row.anomalies, row.reason) == (True, {}, "")


BAD = [
    # two reads that each miss a write of the other, at the same time as both writes
    ("long-fork", "long-fork", [r("wx1", 0, 90), r("wy1", 1, 91), r("rx1 ry rz", 2, 92), r("rx ry1 rz", 3, 93)]),
    ("long-fork", "key-order-cycle", [r("wx1", 0, 5), r("rx ry rz", 10, 15)]),
    ("long-fork", "key-order-cycle", [r("wx1", 0, 90), r("rx1 ry", 10, 15), r("rx ry", 20, 25)]),
    ("long-fork", "G1a", [r("wx1", 0, 5, kind=FAIL), r("rx1 ry", 10, 15)]),
    ("long-fork", "phantom", [r("wx1", 0, 5), r("rx1 ry7", 10, 15)]),
    # an old value after a newer one was acknowledged, or read
    ("monotonic", "key-order-cycle", [r("wx1", 0, 5), r("wx2", 10, 15), r("rx1", 20, 25)]),
    ("monotonic", "key-order-cycle", [r("wx1", 0, 5), r("wx2", 10, 90), r("rx2", 20, 25), r("rx1", 30, 35)]),
    ("monotonic", "key-order-cycle", [r("wx1", 0, 5), r("rx", 10, 15)]),
    # two keys in opposite orders, everything at the same time
    (
        "monotonic",
        "key-order-cycle",
        [
            r("wx1", 0, 5),
            r("wy1", 1, 6),
            r("wx2", 10, 90),
            r("wy2", 11, 91),
            r("rx2 ry1", 12, 92),
            r("rx1 ry2", 13, 93),
        ],
    ),
    ("multi-register", "nonlinearizable", [r("wx1 wy2", 0, 5), r("rx1 ry", 10, 15)]),
    ("multi-register", "nonlinearizable", [r("wx1", 0, 5), r("rx", 10, 15)]),
    ("multi-register", "nonlinearizable", [r("wx1", 0, 5, kind=FAIL), r("rx1", 10, 15)]),
    ("multi-register", "nonlinearizable", [r("rx9", 10, 15)]),
    # skewed writes: each read what the other then wrote
    ("multi-register", "nonlinearizable", [r("rx wy1", 0, 9), r("ry wx1", 1, 8), r("rx1 ry1", 20, 25)]),
]


@pytest.mark.parametrize(("name", "anomaly", "rows"), BAD)
def test_what_is_wrong_is_found_under_its_name(name, anomaly, rows, tmp_path):
    row = row_of(tmp_path, name, rows)
    assert row.valid is False
    assert anomaly in row.anomalies, row.anomalies
    example = row.anomalies[anomaly].examples[0]
    assert example.key == 0
    assert example.ops


@pytest.mark.parametrize("kind", [INFO, FAIL])
@pytest.mark.parametrize("name", GOOD)
def test_what_nobody_was_told_proves_nothing(name, kind, tmp_path):
    rows = [r("wx1", 0, 5), r("rx1 ry", 10, 15), r("rx7 ry9", 20, 25, kind=kind), r("rx1 ry", 30, 35)]
    assert row_of(tmp_path, name, rows).valid is True


@pytest.mark.parametrize("name", GOOD)
def test_a_write_in_doubt_may_have_happened_or_not(name, tmp_path):
    for number, seen in enumerate(("rx", "rx1")):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert row_of(folder, name, [r("wx1", 0, 5, kind=INFO), r("wy1", 1, 6), r(f"{seen} ry1", 10, 15)]).valid is True


@pytest.mark.parametrize(
    ("promised", "wrong"),
    [
        (None, {"long-fork", "key-order-cycle", "nonlinearizable"}),
        (("serializable",), {"long-fork"}),
        (("snapshot-isolation",), {"long-fork"}),
        (("parallel-snapshot-isolation",), set()),
        ((), set()),
    ],
)
@pytest.mark.parametrize(("name", "anomaly", "rows"), [BAD[0], BAD[1], BAD[5], BAD[9]])
def test_what_no_promised_model_rules_out_is_allowed(name, anomaly, rows, promised, wrong, tmp_path):
    found = row_of(tmp_path, name, rows, promises=Promises(consistency_models=promised)).anomalies[anomaly]
    assert found.allowed == (anomaly not in wrong)


@pytest.mark.parametrize("promised", [None, ()])
def test_what_nobody_wrote_is_wrong_whatever_is_promised(promised, tmp_path):
    name, anomaly, rows = BAD[4]
    row = row_of(tmp_path, name, rows, promises=Promises(consistency_models=promised))
    assert (row.valid, row.anomalies[anomaly].allowed) == (False, False)


@pytest.mark.parametrize(
    ("name", "anomaly", "rows"), [one for one in BAD if one[1] in ("long-fork", "nonlinearizable")]
)
def test_the_verdict_is_that_of_the_same_history_from_jepsen(name, anomaly, rows, tmp_path):
    file = tmp_path / "history.edn"
    file.write_text(as_edn(rows))
    extra = {"nil_means": "absent"} if name == "multi-register" else {}
    told = judge_file(file, Question(format="jepsen", model=name, **extra), "local")
    (tmp_path / "run").mkdir()
    own = row_of(tmp_path / "run", name, rows)
    assert (own.valid, anomaly in own.anomalies) == (told.valid, anomaly in told.anomalies) == (False, True)


def test_groups_of_registers_are_judged_by_themselves(tmp_path):
    """Key numbers go by the order of their names' first use: x, y and z are a group, u is of the next one."""
    good = [r("wx1 wy1 wz1", 0, 5), r("wu1", 10, 15), r("ru1", 20, 25), r("rx1 rz1", 30, 35)]
    assert row_of(tmp_path, "multi-register", good).valid is True
    (tmp_path / "bad").mkdir()
    row = row_of(tmp_path / "bad", "multi-register", [*good, r("ru", 40, 45), r("rx", 50, 55)])
    assert row.anomalies["nonlinearizable"].count == 2


@pytest.mark.parametrize("name", GOOD)
def test_runs_of_other_workloads_are_not_judged(name, tmp_path):
    recorded(tmp_path, [r("wx1", 0, 5)], lists=False)
    context, _ = context_of(tmp_path, workload="rw-register")
    assert check_named(name).applies(context) == "it is a run of the workload rw-register"
