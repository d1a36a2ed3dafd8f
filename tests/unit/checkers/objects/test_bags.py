"""Sets, queues, counters, identifiers and order: the rules of the reference checkers, one history each."""

import pytest
from msgspec.structs import replace

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects import bags, order
from checkers.objects.calls import Call, Calls
from checkers.objects.full_set import full_set
from checkers.objects.rules import Budget, Rules


def calls(*rows):
    """Rows ``f argument -> output`` with (invoke, complete); complete None: nobody knows; ``x`` before f: it failed."""
    out = []
    for number, (f, argument, output, times) in enumerate(rows):
        begun, ended = times
        outcome = Type.FAIL if f.startswith("x") else Type.INFO if ended is None else Type.OK
        name, done = f.removeprefix("x"), NEVER if ended is None else ended
        out.append(Call(number, number, name, argument, output, outcome, begun, done))
    return Calls(out)


def judge(model, *rows, **rules):
    """The answer; and the operations of each anomaly's first example alone must show the same to the same model."""
    answer = model(calls(*rows), Rules(**rules), Budget())
    for name, found in answer.found.items():
        sentence, shown = found.examples[0]
        alone = model(Calls(shown), Rules(**rules), Budget()).found[name]
        assert sentence.split(" returned")[0] in [one.split(" returned")[0] for one, _ in alone.examples]
    return answer.valid, {name: (found.count, found.allowed) for name, found in answer.found.items()}


def test_a_set_without_a_read_is_unknown():
    assert judge(bags.final_set, ("add", 1, None, (0, 1))) == ("unknown", {})
    assert judge(bags.final_set, ("add", 1, None, (0, 1)), ("read", None, None, (2, None))) == ("unknown", {})


def test_a_set_is_judged_by_its_last_ok_read():
    rows = [("add", 1, None, (0, 1)), ("add", 2, None, (2, None)), ("read", None, [], (3, 4))]
    assert judge(bags.final_set, *rows, ("read", None, [1, 2], (5, 6))) == (True, {})
    assert judge(bags.final_set, *rows, ("read", None, {2, 3}, (5, 6))) == (
        False,
        {"lost-write": (1, False), "phantom": (1, False)},
    )
    assert judge(bags.final_set, ("read", None, [1], (5, 9)), *rows) == (True, {}), "last is the last to complete"


def test_what_failed_to_be_added_was_tried():
    rows = [("xadd", 1, None, (0, 1)), ("read", None, [1], (2, 3))]
    assert judge(bags.final_set, *rows) == (True, {})


def test_a_total_queue_counts_drains_and_does_not_mind_duplicates():
    rows = [("enqueue", 1, None, (0, 1)), ("enqueue", 2, None, (2, 3)), ("enqueue", 3, None, (4, None))]
    assert judge(bags.total_queue, *rows, ("dequeue", None, 1, (5, 6)), ("drain", None, [2, 3], (7, 8))) == (True, {})
    assert judge(bags.total_queue, *rows, ("drain", None, [1, 1, 2], (7, 8))) == (True, {"duplicate": (1, True)})
    assert judge(bags.total_queue, *rows, ("drain", None, [1, 1, 2], (7, 8)), strict=True)[0] is False
    assert judge(bags.total_queue, *rows, ("drain", None, [1, 9], (7, 8))) == (
        False,
        {"lost-write": (1, False), "phantom": (1, False)},
    )


FULL_QUEUE = ("enqueue", 1, None, (0, 1))


def test_a_drain_that_did_not_end_makes_a_total_queue_unknown():
    assert judge(bags.total_queue, FULL_QUEUE, ("drain", None, None, (7, None))) == ("unknown", {})


def test_a_queue_gives_nothing_before_somebody_tried_to_put_it_in():
    put, taken = ("enqueue", 1, None, (0, None)), ("dequeue", None, 1, (1, 2))
    assert judge(bags.plain_queue, put, taken) == (True, {})
    assert judge(bags.plain_queue, ("enqueue", 1, None, (3, 4)), taken) == (False, {"phantom": (1, False)})
    assert judge(bags.plain_queue, put, taken, ("dequeue", None, 1, (3, 4))) == (False, {"duplicate": (1, False)})


def test_identifiers_are_given_once():
    assert judge(bags.unique_ids, ("generate", None, 1, (0, 1)), ("generate", None, 2, (2, 3))) == (True, {})
    assert judge(bags.unique_ids, *[("generate", None, 7, (i, i + 1)) for i in range(3)]) == (
        False,
        {"duplicate": (1, False)},
    )
    assert judge(bags.unique_ids, ("generate", None, 1, (0, 1)), ("generate", None, True, (2, 3)))[0] is True


@pytest.mark.parametrize(("value", "valid"), [(0, False), (1, True), (3, True), (7, True), (8, False)])
def test_a_counter_lies_between_what_was_acknowledged_and_what_was_tried(value, valid):
    rows = [
        ("add", 1, None, (0, 1)),
        ("add", 2, None, (2, None)),
        ("xadd", 100, None, (2, 3)),
        ("add", 4, None, (5, 9)),
        ("read", None, value, (4, 6)),
        ("add", 50, None, (7, 8)),
    ]
    assert judge(bags.counter, *rows)[0] is valid


def test_a_counter_cannot_be_judged_with_negative_amounts():
    with pytest.raises(HistoryError, match="op 0"):
        judge(bags.counter, ("add", -1, None, (0, 1)))


FULL = [("add", 1, None, (0, 1)), ("add", 2, None, (2, 3))]


def test_a_full_set_loses_what_is_missing_from_the_last_read_for_good():
    kept = ("read", None, [1, 2], (4, 5))
    assert judge(full_set, *FULL, kept) == (True, {})
    assert judge(full_set, *FULL, kept, ("read", None, [1], (6, 7))) == (False, {"lost-write": (1, False)})
    assert judge(full_set, *FULL, ("read", None, [1], (2, 7)))[0] is True, "a read beside the add proves nothing"


def test_a_full_set_with_a_stale_read_is_valid_unless_it_must_be_linearizable():
    rows = [*FULL, ("read", None, [1], (4, 5)), ("read", None, [1, 2], (6, 7))]
    assert judge(full_set, *rows) == (True, {"stale-read": (1, True)})
    assert judge(full_set, *rows, linearizable=True) == (False, {"stale-read": (1, False)})


def test_a_stale_read_needs_a_millisecond_where_there_are_times():
    def at(call, began_ns, ended_ns):
        return replace(call, began_ns=began_ns, ended_ns=ended_ns)

    add, stale, good = calls(("add", 1, None, (0, 1)), ("read", None, [], (2, 3)), ("read", None, [1], (4, 5))).all
    for gap_ns, valid in ((999_998, True), (1_000_000, False)):
        own = Calls([at(add, 0, 10), at(stale, 10 + gap_ns, 11 + gap_ns), at(good, 5_000_000, 5_000_001)])
        assert full_set(own, Rules(linearizable=True), Budget()).valid is valid


def test_what_the_reference_misses_in_a_full_set_is_told_and_allowed():
    rows = [*FULL, ("read", None, [1, 2, 2, 3], (4, 5))]
    assert judge(full_set, *rows) == (True, {"duplicate": (1, True), "phantom": (1, True)})
    assert judge(full_set, *rows, strict=True)[0] is False


def test_a_full_set_that_nothing_stays_in_is_unknown():
    assert judge(full_set, ("add", 1, None, (0, None)))[0] == "unknown"


def test_order_is_that_of_acknowledgements_one_after_another():
    one, two = ("enqueue", "a", None, (0, 1)), ("enqueue", "b", None, (2, 3))
    late_a, early_b = ("dequeue", None, "a", (8, 9)), ("dequeue", None, "b", (4, 5))
    assert judge(order.check, one, two, late_a, early_b) == (False, {"order": (1, False)})
    beside = [("enqueue", "a", None, (0, 3)), ("enqueue", "b", None, (2, 3))]
    assert judge(order.check, *beside, late_a, early_b)[0] is True
    assert judge(order.check, one, two, early_b) == (True, {}), "a message that is missing is a loss"


def test_a_strange_operation_names_its_line():
    with pytest.raises(HistoryError, match="op 0: a set has no pop"):
        judge(bags.final_set, ("pop", None, None, (0, 1)))
