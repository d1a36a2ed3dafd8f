"""The Kafka checker on histories of a few records: what the reference misses, and what must not be an error."""

import random

import numpy as np
import pytest
from kafka_histories_small import OPEN_SEND, acked, assigned, history, invoke, polled, send
from kafka_literals import columns

from chaos.core.verdict import UNKNOWN
from checkers.cycles.hash_order import first_of
from checkers.kafka.check import canonical, check
from checkers.kafka.cycle_search import OverBudgetError, graph_of
from checkers.kafka.explain import sentence
from checkers.kafka.graph import Edges
from checkers.kafka.minimise import minimise
from checkers.kafka.names import MISSED
from checkers.kafka.rows import Records


def names(verdict):
    return {name: one.count for name, one in verdict.anomalies.items()}


LATE_OFFSET = history(acked(0, "a", 5, 1), acked(1, "a", 3, 2), polled(2, {"a": [[3, 2], [5, 1]]}))


def test_an_offset_below_one_acknowledged_before_is_reported_and_an_error_only_if_strict():
    verdict = check(columns(LATE_OFFSET))
    assert (verdict.valid, names(verdict)) == (True, {"nonlinearizable-offset": 1})
    assert verdict.anomalies["nonlinearizable-offset"].allowed
    case = verdict.anomalies["nonlinearizable-offset"].cases[0]
    assert sentence("nonlinearizable-offset", case) == (
        "Message 2 was given offset 3 of log a (record 3) though its send began after message 1 at offset 5 was known "
        "to be there (record 1)."
    )
    assert check(columns(LATE_OFFSET), strict=True).valid is False


def test_with_ww_the_late_offset_is_a_cycle_with_real_time():
    verdict = check(columns(LATE_OFFSET), ww_deps=True)
    assert verdict.valid is True
    assert names(verdict) == {"G0-realtime": 1, "nonlinearizable-offset": 1, "strong-PL-1-cycle-exists": 1}
    (case,) = verdict.anomalies["G0-realtime"].cases
    assert set(case.body) == {
        "record 1 ended before record 3 began",
        "record 3 sent 2 to log a just before record 1 sent 1",
    }


def test_a_circle_with_real_time_is_named_after_a_poll_that_says_the_same():
    """The reference explains the step from record 1 to record 3 by the poll: no step needs it."""
    both = polled(3, {"a": [[3, 2], [5, 1]]})
    records = history(acked(0, "a", 5, 1), polled(2, {"a": [[5, 1]]}), acked(1, "a", 3, 2), both)
    verdict = check(columns(records), ww_deps=True)
    assert verdict.valid is True
    assert names(verdict) == {"G1c-realtime": 1, "nonlinearizable-offset": 1, "strong-PL-1-cycle-exists": 1}
    (case,) = verdict.anomalies["G1c-realtime"].cases
    assert set(case.body) == {
        "record 1 sent 1 to log a, which record 3 polled",
        "record 3 ended before record 5 began",
        "record 5 sent 2 to log a just before record 1 sent 1",
    }


def test_offsets_of_sends_that_overlap_may_have_any_order():
    records = history(
        invoke(0, send("a", 1)),
        invoke(1, send("a", 2)),
        acked(0, "a", 5, 1)[1:],
        acked(1, "a", 3, 2)[1:],
        polled(2, {"a": [[3, 2], [5, 1]]}),
    )
    assert names(check(columns(records), strict=True)) == {}


@pytest.mark.parametrize("before", [(), assigned(2, ["a"], rewind=True), assigned(2, ["a"])])
@pytest.mark.parametrize("got", [{}, {"a": []}])
def test_a_poll_that_finds_nothing_where_a_message_was_acknowledged(before, got):
    records = history(acked(0, "a", 0, 1), before, polled(2, got), polled(2, {"a": [[0, 1]]}))
    found = names(check(columns(records)))
    assert found == ({"stale-tail": 1} if before or got else {})  # who was assigned nothing owes nothing


def test_a_poll_that_finds_nothing_behind_what_it_polled_before_may_have_come_too_early():
    told = (acked(0, "a", 0, 1), assigned(2, ["a"]), polled(2, {"a": [[0, 1]]}), acked(0, "a", 1, 2))
    assert names(check(columns(history(*told, polled(2, {}), polled(2, {"a": [[1, 2]]}))))) == {}
    assert names(check(columns(history(*told, polled(2, {"a": []}), polled(2, {"a": [[1, 2]]}))))) == {"stale-tail": 1}
    rewound = history(*told, assigned(2, ["a"], rewind=True), polled(2, {}), polled(2, {"a": [[0, 1], [1, 2]]}))
    assert "stale-tail" in names(check(columns(rewound)))


def test_a_value_from_nowhere_is_an_anomaly_and_leaves_the_verdict_unknown():
    records = history(acked(0, "a", 0, 1), polled(1, {"a": [[0, 1], [1, 7]]}))
    verdict = check(columns(records))
    assert (verdict.valid, names(verdict)) == (UNKNOWN, {"phantom": 1})
    assert verdict.anomalies["phantom"].allowed
    assert "nobody sent" in verdict.reason
    assert check(columns(records), strict=True).valid is False
    assert sentence("phantom", verdict.anomalies["phantom"].cases[0]) == (
        "Record 3 polled message 7 of log a, which nobody tried to send."
    )


def test_an_error_beats_what_cannot_be_judged():
    records = history(acked(0, "a", 0, 1), polled(1, {"a": [[1, 7]]}))
    assert check(columns(records)).valid is False  # message 1 is lost


def test_a_send_that_is_still_open_may_be_polled():
    assert names(check(columns(history(OPEN_SEND, polled(1, {"a": [[0, 9]]}))), ww_deps=True, strict=True)) == {}


def test_a_send_that_is_still_open_and_was_polled_commits_its_whole_transaction():
    records = history(
        invoke(0, send("a", 1), send("a", 2)),
        acked(1, "a", 2, 3),
        [{"type": "info", "process": 5, "f": "poll", "value": [["poll", {"a": [[0, 1]]}]]}],
        polled(2, {"a": [[1, 2], [2, 3]]}),
    )
    assert "lost-write" in names(check(columns(records)))


def test_nil_offsets_prove_nothing():
    records = history(acked(0, "a", None, 1), polled(1, {"a": [[None, 1]]}), polled(1, {"a": [[None, 1]]}))
    assert names(check(columns(records))) == {}


def test_an_empty_poll_of_an_unknown_log_is_nothing():
    assert names(check(columns(history(acked(0, "b", 0, 1), polled(1, {"b": [[0, 1]]}), polled(2, {"a": []}))))) == {}


def test_a_poll_that_returned_nothing_forgets_where_its_process_was():
    told = [acked(0, "a", i, i) for i in range(3)]
    gap = history(*told, polled(1, {"a": [[0, 0]]}), polled(1, {"a": [[2, 2]]}), polled(2, {"a": [[1, 1]]}))
    assert "poll-skip" in names(check(columns(gap)))
    blank = polled(1, {"a": []})
    empty = history(
        *told,
        polled(1, {"a": [[0, 0]]}),
        blank,
        polled(1, {"a": [[2, 2]]}),
        polled(2, {"a": [[1, 1]]}),
    )
    assert "poll-skip" not in names(check(columns(empty)))


def test_sparse_offsets_of_64_bits_cost_nothing():
    far = 2**62
    records = history(
        *(acked(0, "a", i * far // 100, far - i) for i in range(100)),
        polled(1, {"a": [[i * far // 100, far - i] for i in range(100)]}),
    )
    assert names(check(columns(records), ww_deps=True, strict=True)) == {}
    records[-1]["value"][0][1]["a"].pop(50)
    assert {"int-poll-skip", "lost-write", "unseen"} == set(names(check(columns(records)))) - MISSED


def test_a_rebalanced_consumer_may_jump_within_a_poll():
    told = [acked(0, "a", i, i) for i in range(3)]
    begun, done = polled(1, {"a": [[0, 0], [2, 2]]})
    rebalanced = {**done, "rebalance-log": [{"type": "revoked", "keys": ["a"]}]}
    whole = polled(2, {"a": [[0, 0], [1, 1], [2, 2]]})
    assert "int-poll-skip" in names(check(columns(history(*told, [begun, done], whole))))
    assert names(check(columns(history(*told, [begun, rebalanced], whole)))) == {}


def test_those_who_subscribe_may_skip_and_repeat():
    told = [acked(0, "a", i, i) for i in range(3)]
    records = history(*told, polled(1, {"a": [[0, 0]]}), polled(1, {"a": [[2, 2]]}), polled(1, {"a": [[1, 1]]}))
    assert check(columns(records), sub_via="assign").valid is False
    verdict = check(columns(records), sub_via="subscribe")
    assert (verdict.valid, set(verdict.anomalies)) == (True, {"poll-skip", "nonmonotonic-poll"})


def test_a_history_without_any_dependency_is_too_empty():
    failed = {"type": "fail", "process": 0, "f": "send", "value": [["send", "a", 1]]}
    records = history(invoke(0, send("a", 1)), [failed])
    assert names(check(columns(records))) == {"empty-transaction-graph": 1}
    assert names(check(columns([]))) == {}


def test_a_read_from_the_future_is_a_cycle_of_real_time():
    verdict = check(columns(history(polled(1, {"a": [[0, 1]]}), acked(0, "a", 0, 1))))
    assert names(verdict) == {"G1c-realtime": 1, "strong-PL-2-cycle-exists": 1}
    assert verdict.valid is False


def test_more_dependencies_than_the_budget_are_not_decided():
    records = history(polled(1, {"a": [[0, 1]]}), acked(0, "a", 0, 1))
    verdict = check(columns(records), budget=0)
    assert (verdict.valid, names(verdict)) == (UNKNOWN, {})
    assert "1 dependencies" in verdict.reason


def test_counts_are_exact_where_few_cases_are_kept():
    rows = [[i, i] for i in range(50)]
    records = history(*(acked(0, "a", i, i) for i in range(50)), polled(1, {"a": rows[::-1]}))
    one = check(columns(records), keep=3).anomalies["int-nonmonotonic-poll"]
    assert (one.count, len(one.cases)) == (49, 3)


def test_the_smallest_history_leaves_out_what_has_nothing_to_do_with_it():
    rng = random.Random(3)
    noise = [acked(p, "b", i, i) for i, p in enumerate(rng.choices(range(4), k=40))]
    records = history(
        *noise[:20],
        acked(0, "a", 0, 1),
        acked(1, "a", 1, 2),
        *noise[20:],
        polled(2, {"a": [[1, 2]]}),
        polled(2, {"b": [[i, i] for i in range(40)]}),
    )
    verdict = check(columns(records))
    small = minimise(columns(records), "lost-write", verdict.anomalies["lost-write"].cases[0])
    assert [records[i]["process"] for i in small.ops.index] == [0, 0, 2, 2]
    assert check(small).valid is False


def test_a_clash_is_settled_as_a_clojure_set_would():
    left, order = set(range(10)), []
    while left:
        order.append(first_of(left))
        left.remove(order[-1])
    assert order == [0, 7, 1, 4, 6, 3, 2, 9, 5, 8]  # what (set (range 10)) prints


def test_lists_are_in_the_order_of_the_suite():
    rows = [[i, i] for i in range(12)]
    polls = (polled(p, {"a": rows + rows[-1:]}) for p in range(1, 8))
    records = history(*(acked(0, "a", i, i) for i in range(12)), *polls)
    last = [body[-1] for body in canonical(check(columns(records), keep=None))["int-nonmonotonic-poll"]]
    assert last == sorted(last, key=str)


def test_the_budget_is_named():
    one = Edges(np.array([1]), np.array([0]), np.array([0]))
    with pytest.raises(OverBudgetError, match="2 dependencies"):
        graph_of(Records(columns(LATE_OFFSET)), one, one, budget=1)
