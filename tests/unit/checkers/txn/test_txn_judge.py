"""Each anomaly of transactions in a history of a few lines, with its neighbours that are no anomaly."""

import msgspec
import pytest
from txn_literals import FAIL, INFO, r, t

from checkers.txn.judge import Options, judge
from checkers.txn.names import EMPTY
from checkers.txn.transactions import columns


def found(rows, model="list-append", **options):
    """What is found and forbidden: counts by name."""
    models = options.pop("models", ("strict-serializable",))
    verdict = judge(columns(rows), model, Options(models=models, **options))
    assert (verdict.valid is False) == bool(verdict.anomalies.keys() - {EMPTY})
    assert bool(verdict.reason) == (verdict.valid == "unknown")
    return {name: one.count for name, one in verdict.anomalies.items()}


LISTS = [
    ("G0", "ww both ways", [t("ax1 ay2", 0, 9), t("ay1 ax2", 1, 8), t("rx12 ry12", 10, 11)]),
    ("G1c", "each read what the other wrote", [t("ax1 ry1", 0, 9), t("ay1 rx1", 1, 8)]),
    ("G-single-item", "half of a transaction was seen", [t("ax1 ay1", 0, 9), t("rx1 ry", 1, 8)]),
    ("G2-item", "write skew", [t("rx ay1", 0, 9), t("ry ax1", 1, 8)]),
    (
        "G-nonadjacent-item",
        "a long fork",
        [t("ax1", 0, 9), t("ay1", 1, 8), t("rx1 ry", 2, 7), t("ry1 rx", 3, 6)],
    ),
    ("G0-realtime", "a later append came first", [t("ax1", 0, 1), t("ax2", 2, 3), t("rx21", 4, 5)]),
    ("G1c-realtime", "read before it was written", [t("rx1", 0, 1), t("ax1", 2, 3)]),
    ("G-single-item-realtime", "a stale read", [t("ax1", 0, 1), t("rx", 2, 3)]),
]


@pytest.mark.parametrize(("name", "rows"), [(name, rows) for name, _, rows in LISTS], ids=lambda one: str(one)[:24])
def test_a_cycle_has_its_name_and_no_other(name, rows):
    assert found(rows) == {name: 1}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("G0-process", [t("ax1", 0, 1, 7), t("ax2", 2, 3, 7), t("rx21", 4, 5)]),
        ("G1c-process", [t("rx1", 0, 1, 7), t("ax1", 2, 3, 7)]),
        ("G-single-item-process", [t("ax1", 0, 1, 7), t("rx", 2, 3, 7)]),
    ],
)
def test_what_one_process_did_has_its_name(name, rows):
    assert found(rows, models=("strong-session-serializable",)) == {name: 1}
    others = [msgspec.structs.replace(one, process=one.number) for one in rows]
    assert found(others, models=("strong-session-serializable",)).keys() <= {EMPTY}, "they are of several processes now"


@pytest.mark.parametrize(
    ("name", "count", "rows"),
    [
        ("G1a", 2, [t("ax1", 0, 1, kind=FAIL), t("rx1", 2, 3), t("rx1", 4, 5)]),
        ("G1b", 1, [t("ax1 ax2", 0, 9), t("rx1", 1, 2), t("rx12", 10, 11)]),
        ("duplicate-elements", 1, [t("ax1", 0, 1), t("rx11", 2, 3)]),
        ("incompatible-order", 1, [t("ax1", 0, 9), t("ax2", 1, 8), t("rx1", 2, 3), t("rx2", 4, 5)]),
        ("dirty-update", 1, [t("ax1", 0, 1, kind=FAIL), t("ax2", 2, 3), t("rx12", 4, 5)]),
        ("internal", 1, [t("ax1", 0, 1), t("ax2 rx1", 2, 3)]),
        ("internal", 1, [t("ax1", 0, 9), t("rx rx1", 1, 8)]),
        ("internal", 1, [t("ax1", 0, 9), t("rx ax2 rx12", 1, 8)]),
        ("future-read", 1, [t("rx1 ax1", 0, 1)]),
        ("lost-update", 1, [t("rx ax1", 0, 9), t("rx ax2", 1, 8), t("rx12", 10, 11)]),
        ("phantom", 1, [t("ax1", 0, 1), t("rx12", 2, 3)]),
    ],
)
def test_what_needs_no_cycle_is_counted(name, count, rows):
    assert found(rows).get(name) == count


@pytest.mark.parametrize(
    "rows",
    [
        [t("ax1", 0, 1), t("rx1 ax2 rx12", 2, 3), t("rx12", 4, 5)],
        [t("ax1", 0, 9), t("rx", 1, 2), t("rx1", 10, 11)],
        [t("ax1", 0, 1, kind=INFO), t("rx", 2, 3), t("rx1", 4, 5), t("rx1", 6, 7)],
        [t("ax1", 0, 1, kind=INFO), t("rx", 2, 3), t("rx", 4, 5)],
        [t("ax1", 0, 1, kind=FAIL), t("rx", 2, 3), t("ax2", 4, 5), t("rx2", 6, 7)],
        [t("ax1 ax2", 0, 1), t("rx12", 2, 3)],
        [t("rx ax1", 0, 1), t("rx1 ax2", 2, 3), t("rx12", 4, 5)],
        [t("ax1", 0, 5), t("rx1", 5, 6)],
    ],
)
def test_a_history_with_an_order_is_valid(rows):
    assert found(rows) == {}


def test_a_read_in_a_transaction_of_which_nobody_knows_says_nothing():
    assert found([t("ax1", 0, 1), t("rx", 2, 3, kind=INFO), t("rx1", 4, 5)]) == {}


def test_a_model_that_does_not_forbid_it_allows_it():
    skew = columns([t("rx ay1", 0, 9), t("ry ax1", 1, 8)])
    verdict = judge(skew, "list-append", Options(models=("snapshot-isolation",)))
    assert verdict.valid is True
    assert set(verdict.beside) == {"G2-item"}
    assert verdict.ruled_out.weakest == ("repeatable-read",)


def test_several_models_forbid_what_any_of_them_does():
    rows = [t("rx ay1", 0, 9), t("ry ax1", 1, 8)]
    assert found(rows, models=("snapshot-isolation", "cursor-stability")) == {}
    assert found(rows, models=("snapshot-isolation", "repeatable-read")) == {"G2-item": 1}


def test_values_that_are_written_twice_tell_nothing():
    verdict = judge(columns([t("ax1", 0, 1), t("ax1", 2, 3), t("rx11", 4, 5)]), "list-append", Options())
    assert (verdict.valid, verdict.anomalies) == ("unknown", {})
    assert "value 1 of key x was written more than once" in verdict.reason


def test_a_history_without_dependencies_is_unknown():
    verdict = judge(columns([t("ax1", 0, 9), t("ay1", 1, 8)]), "list-append", Options())
    assert verdict.valid == "unknown"
    assert list(verdict.anomalies) == [EMPTY]


def test_a_component_shows_its_worst_cycle_and_others_that_are_not_implied():
    rows = [t("ax1 ry1", 0, 9), t("ay1 rx1", 1, 8), t("az1", 2, 3), t("rz", 4, 5)]
    assert found(rows) == {"G1c": 1, "G-single-item-realtime": 1}, "two components, each for itself"


def test_the_smallest_cycle_is_shown_with_a_reason_for_each_step():
    verdict = judge(columns([t("ax1 ay1", 0, 9), t("rx1 ry", 1, 8)]), "list-append", Options())
    (one,) = verdict.anomalies["G-single-item"].told
    assert [(step.before, step.after, step.kind) for step in one.steps] == [(1, 0, "rw"), (0, 1, "wr")]
    assert one.sentence == (
        "transaction 1 read key y as [], without 1, which transaction 0 appended; transaction 1 read key x up to 1, "
        "which transaction 0 had appended: so both come before the other"
    )


def test_a_circle_that_counts_twice_is_told_with_both_its_reasons():
    """Elle counts it once by what was read, and once by real time: each of the two has words of its own."""
    rows = [t("ax2 ay1", 0, 1, 7), t("ax1 ry1", 2, 3, 7), t("rx12", 4, 5)]
    found = judge(columns(rows), "list-append", Options()).anomalies
    read, over = "transaction 2 read key y up to 1, which transaction 0 had appended", "transaction 0 was over before"
    behind = "transaction 0 appended 2 to key x behind 1 of transaction 2: so both come before the other"
    assert found["G1c"].count == 2
    assert [one.sentence for one in found["G1c"].told] == [
        f"{read}; {behind}",
        f"{read}, and {over} transaction 2 began; {behind}",
    ]
    assert [one.sentence for one in found["strong-PL-1-cycle-exists"].told] == [f"{over} transaction 2 began; {behind}"]


def test_cases_that_read_alike_are_told_once():
    rows = [t("ax1 ax2", 0, 1), *(t("rx1 rx1", number, number + 1) for number in range(2, 20, 2))]
    (found,) = (one for name, one in judge(columns(rows), "list-append", Options()).anomalies.items() if name == "G1b")
    assert found.count == 18
    assert len({one.sentence for one in found.told}) == len(found.told) == 8


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (2, "transaction 1 of process 1 and transaction 2 of process 2 both read key x as [] and then wrote it"),
        (3, "transaction 2 of process 2 and transaction 3 of process 3 all read key x as [] and then wrote it"),
        (6, "transaction 4 of process 4 and 2 more all read key x as [] and then wrote it"),
    ],
)
def test_all_transactions_of_a_lost_update_are_named_or_counted(rows, said):
    history = [t("ay1", 0, 1, 0), *(t(f"rx ax{one}", one, 20 + one, one) for one in range(1, rows + 1))]
    (one,) = judge(columns(history), "list-append", Options()).anomalies["lost-update"].told
    assert said in one.sentence


REGISTERS = [
    ("G1c", {}, [r("wx1 ry1", 0, 9), r("wy1 rx1", 1, 8)]),
    ("G-single-item", {}, [r("wx1 wy1", 0, 9), r("rx1 ry", 1, 8)]),
    ("G2-item", {}, [r("rx wy1", 0, 9), r("ry wx1", 1, 8)]),
    ("G-single-item-realtime", {}, [r("wx1", 0, 1), r("rx", 2, 3)]),
    ("G1c-realtime", {}, [r("rx1", 0, 1), r("wx1", 2, 3)]),
    ("G1a", {}, [r("wx1", 0, 1, kind=FAIL), r("rx1", 2, 3)]),
    ("internal", {}, [r("wx1", 0, 1), r("wx2 rx1", 2, 3)]),
    ("future-read", {}, [r("rx1 wx1", 0, 1), r("rx1", 2, 3)]),
    ("phantom", {}, [r("wx1", 0, 1), r("rx7", 2, 3)]),
    (
        "G-single-item",
        {"wfr_keys": True},
        [r("wx1", 0, 1), r("rx1 wx2 wy1", 2, 9), r("ry1 rx1", 3, 8)],
    ),
    (
        "G-single-item-realtime",
        {"linearizable_keys": True},
        [r("wx1", 0, 1), r("wx2", 2, 3), r("rx1", 4, 5, 9)],
    ),
]


@pytest.mark.parametrize(("name", "options", "rows"), REGISTERS)
def test_registers_show_their_anomalies(name, options, rows):
    if "linearizable_keys" in options:
        assert found(rows, "rw-register", **options) == {"cyclic-versions": 1}, "the read itself contradicts the order"
        assert found(rows, "rw-register") == {}, "nobody says that keys follow real time"
    else:
        assert name in found(rows, "rw-register", **options)


def test_g1b_of_a_register_is_a_value_that_its_writer_replaced():
    assert found([r("wx1 wx2", 0, 9), r("rx1", 1, 2)], "rw-register") == {"G1b": 1, EMPTY: 1}
    assert found([r("wx1 wx2", 0, 9), r("rx2", 1, 2)], "rw-register") == {}


def test_lost_update_of_a_register_needs_two_that_committed():
    both = [r("rx wx1", 0, 9), r("rx wx2", 1, 8)]
    assert found(both, "rw-register")["lost-update"] == 1
    assert found([both[0], r("rx wx2", 1, 8, kind=INFO), r("rx1", 10, 11)], "rw-register") == {}


def test_writes_of_which_nobody_knows_count_where_they_were_read_and_it_is_asked_for():
    torn = [r("wx1 wy1", 0, 9, kind=INFO), r("rx1 ry", 1, 8)]
    assert found(torn, "rw-register", models=("serializable",)).keys() <= {EMPTY}, "as the reference has it"
    assert found(torn, "rw-register", models=("serializable",), strict=True) == {"G-single-item": 1}


def test_sequential_keys_are_those_that_each_process_meets_in_order():
    rows = [
        r("wx1", 0, 20, 1),
        r("wx2", 1, 21, 2),
        r("rx1", 2, 3, 3),
        r("rx2", 4, 5, 3),
        r("rx2 wy1", 6, 7, 4),
        r("ry1 rx1", 8, 9, 5),
    ]
    assert found(rows, "rw-register", models=("serializable",)) == {}
    asked = found(rows, "rw-register", models=("serializable",), sequential_keys=True)
    assert asked == {"G-single-item": 1}


def test_an_order_that_contradicts_those_before_it_is_told_and_not_used():
    rows = [r("wx1", 0, 9, 1), r("rx1", 1, 2, 2), r("rx", 3, 4, 2)]
    assert found(rows, "rw-register", models=("read-uncommitted",)) == {}
    assert found(rows, "rw-register", models=("read-uncommitted",), sequential_keys=True) == {"cyclic-versions": 1}
