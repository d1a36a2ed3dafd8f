"""The models against an exhaustive search over all orders."""

import random

import pytest
from msgspec.structs import replace
from small_objects import (
    bag_step,
    coarse,
    fifo_step,
    linearizable,
    mutex_step,
    register_step,
    set_step,
    several_step,
    small,
    spoilt,
    text_step,
)

from chaos.core.op import Type
from checkers.objects import fifo, kv, multi_register, mutex, register, unordered
from checkers.objects.calls import Calls
from checkers.objects.minimise import minimise
from checkers.objects.rules import Budget, Rules
from checkers.objects.smaller_histories import PARTS, calls_after_reset


def register_apply(state, f, argument):
    if f == "read":
        return state, state, True
    if f == "write":
        return argument, None, True
    return (argument[1], None, True) if state == argument[0] else (state, None, False)


def few_values(rng, number):
    f = rng.choice(["read", "read", "write", "cas"])
    return f, None if f == "read" else rng.randrange(3) if f == "write" else [rng.randrange(3), rng.randrange(3)]


def own_values(rng, number):
    f = rng.choice(["read", "write"])
    return f, None if f == "read" else number


def mutex_apply(state, f, argument):
    return (f == "acquire", None, True) if (f == "acquire") != bool(state) else (state, None, False)


def fifo_apply(state, f, argument):
    state = state or ()
    if f == "enqueue":
        return (*state, argument), None, True
    return (state[1:], state[0], True) if state else (state, None, False)


def text_apply(state, f, argument):
    state = state or ""
    if f == "get":
        return state, state, True
    return (argument if f == "put" else state + argument), None, True


def set_apply(state, f, argument):
    state = state or []
    return (state, state, True) if f == "read" else (sorted({*state, argument}), None, True)


def bag_apply(state, f, argument):
    state = state or ()
    if f == "enqueue":
        return (*state, argument), None, True
    return (state[:-1], state[-1], True) if state else (state, None, False)


def several(rng, number):
    """A transaction on up to two of two registers."""
    keys = rng.sample(["x", "y"], rng.randint(1, 2))
    return "txn", [["w", key, rng.randrange(3)] if rng.random() < 1 / 2 else ["r", key, None] for key in keys]


def several_apply(state, f, argument):
    held, told = dict(state or {}), []
    for word, key, value in argument:
        if word == "w":
            held[key] = value
        told.append([word, key, value if word == "w" else held.get(key)])
    return held, told, True


CASES = {
    "several registers": (
        several,
        several_apply,
        [[["r", "x", 1], ["r", "y", 2]], [["r", "x", None]], [["r", "y", 0], ["w", "x", 1]]],
        multi_register.check,
        several_step,
        (),
    ),
    "register, few values": (few_values, register_apply, [0, 1, 2, None], register.check, register_step, None),
    "register, own values": (own_values, register_apply, [0, 1, 2, 3, 4, None], register.check, register_step, None),
    "mutex": (
        lambda rng, n: (rng.choice(["acquire", "release"]), None),
        mutex_apply,
        [None],
        mutex.check,
        mutex_step,
        False,
    ),
    "fifo, own values": (
        lambda rng, n: (f := rng.choice(["enqueue", "dequeue"]), n if f == "enqueue" else None),
        fifo_apply,
        [0, 1, 2, 3, 4],
        fifo.check,
        fifo_step,
        (),
    ),
    "fifo, few values": (
        lambda rng, n: (f := rng.choice(["enqueue", "dequeue"]), rng.randrange(3) if f == "enqueue" else None),
        fifo_apply,
        [0, 1, 2],
        fifo.check,
        fifo_step,
        (),
    ),
    "strings": (
        lambda rng, n: (f := rng.choice(["get", "put", "append", "append"]), None if f == "get" else str(n % 4)),
        text_apply,
        ["", "0", "01", "12", "3", None],
        kv.check,
        text_step,
        "",
    ),
    "set": (
        lambda rng, n: (f := rng.choice(["add", "read"]), rng.randrange(4) if f == "add" else None),
        set_apply,
        [[], [0], [0, 1], [0, 1, 2], [1, 3], [9], None],
        unordered.linear_set,
        set_step,
        frozenset(),
    ),
    "queue": (
        lambda rng, n: (f := rng.choice(["enqueue", "dequeue"]), rng.randrange(3) if f == "enqueue" else None),
        bag_apply,
        [0, 1, 2, 3],
        unordered.linear_queue,
        bag_step,
        (),
    ),
}
CHECKS = {check for _, _, _, check, _, _ in CASES.values()}


def drawn(name, histories):
    """Histories, perhaps spoilt, and rules to judge them by."""
    make, apply, values, *_ = CASES[name]
    rng = random.Random(name)
    for _ in range(histories):
        calls = coarse(rng, spoilt(rng, small(rng, make, apply), values))
        yield (
            calls,
            Rules(
                nil_means=rng.choice(["any", "absent"]),
                fail_observes=rng.random() < 0.5,
                blind_takes=rng.random() < 0.5,
            ),
        )


def compared(name, histories):
    """Both verdicts on drawn histories; how many are valid, and how many not."""
    *_, check, step, init = CASES[name]
    answers = {True: 0, False: 0}
    for calls, rules in drawn(name, histories):
        found = check(calls, rules, Budget()).valid
        truth = linearizable(calls, step, init, rules)
        assert found == truth, (rules, calls.all)
        answers[truth] += 1
    return answers


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_exhaustive_search(name):
    answers = compared(name, 400)
    assert min(answers.values()) > 20, "else the comparison would show nothing"


@pytest.mark.longer
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_exhaustive_search_on_many_histories(name):
    assert sum(compared(name, 12_500).values()) * len(CASES) == 112_500


def test_a_history_without_operations_is_valid():
    for check in CHECKS:
        assert check(Calls([]), Rules(), Budget()).valid is True


def model_of(name):
    first = name.partition(",")[0]
    return {"fifo": "fifo-queue", "several registers": "multi-register", "strings": "kv"}.get(first, first)


def without(calls, gone):
    return calls.only([i for i in range(len(calls)) if i not in gone])


@pytest.mark.parametrize("name", CASES)
def test_the_smallest_sub_history_is_wrong_and_nothing_more_can_be_left_out(name):
    *_, check, step, init = CASES[name]
    model, smaller = model_of(name), 0
    for calls, rules in drawn(name, 400):
        answer = check(calls, rules, Budget())
        if answer.valid:
            continue
        least = minimise(model, check, calls, rules, answer.found["nonlinearizable"].examples[0][1])
        assert all(call in calls.all for call in least.all)
        assert check(least, rules, Budget()).valid is False
        assert linearizable(least, step, init, rules) is False
        parts = PARTS[model](least, rules)
        assert not parts.silent
        for gone in [*parts.groups, *([i] for i in parts.observers)]:
            assert linearizable(without(least, gone), step, init, rules), (rules, calls.all, least.all, gone)
        smaller += len(least) < len(calls)
    assert smaller > 10, "else the comparison would show nothing"


@pytest.mark.parametrize("name", CASES)
def test_what_may_be_left_out_makes_nothing_wrong(name):
    *_, step, init = CASES[name]
    for calls, rules in drawn(name, 800):
        if not linearizable(calls, step, init, rules):
            continue
        parts = PARTS[model_of(name)](calls, rules)
        for gone in [*parts.groups, *([i] for i in parts.observers), parts.silent]:
            assert linearizable(without(calls, gone), step, init, rules), (rules, calls.all, gone)
        for reset in parts.resets:
            kept = calls_after_reset(calls, parts, reset)
            assert kept is None or reset in kept
            assert kept is None or linearizable(calls.only(kept), step, init, rules), (rules, calls.all, reset)


def until(calls, moment):
    """What was known at a moment."""
    return Calls(
        one if one.complete <= moment else replace(one, outcome=Type.INFO, output=None)
        for one in calls.all
        if one.invoke <= moment and (one.complete <= moment or one.outcome is not Type.FAIL)
    )


def test_the_guilty_operation_is_the_one_whose_completion_left_no_order():
    *_, check, step, init = CASES["strings"]
    seen = 0
    for calls, rules in drawn("strings", 400):
        found = check(calls, rules, Budget()).found.get("nonlinearizable")
        if found is None:
            continue
        at = found.examples[0][1][0].complete
        assert not linearizable(until(calls, at), step, init, rules)
        assert linearizable(until(calls, at - 1), step, init, rules), (rules, calls.all, at)
        seen += 1
    assert seen > 10
