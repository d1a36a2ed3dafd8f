"""Orders told by a model that only says whether there is one, held to every order there is."""

import itertools
import random

import pytest

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls
from checkers.objects.registry import MODELS
from checkers.objects.rules import Budget, Rules
from checkers.objects.witness import MOST, without_one

RULES = Rules()


def call(number, f, invoke, complete, argument=None, output=None, outcome=Type.OK):
    return Call(number, number, f, argument, output, outcome, invoke, complete)


def drawn(seed):
    """A few writes and reads of a register at random times."""
    random_ = random.Random(seed)
    out = []
    for number in range(random_.randint(2, 6)):
        invoke = random_.randint(0, 12)
        complete, outcome = invoke + random_.randint(1, 6), Type.OK
        value = random_.randint(1, 2)
        if random_.random() < 0.5:
            if random_.random() < 0.2:
                complete, outcome = NEVER, Type.INFO
            out.append(call(number, "write", invoke, complete, argument=value, outcome=outcome))
        else:
            out.append(call(number, "read", invoke, complete, output=value))
    return sorted(out, key=lambda one: one.invoke)


def explains(order):
    """Whether a register that begins with nothing gives these answers in this order, and real time allows it."""
    held = None
    for place, one in enumerate(order):
        if any(later.complete < one.invoke for later in order[place + 1 :]):
            return False
        if one.f == "write":
            held = one.argument
        elif one.output != held:
            return False
    return True


def orderable(calls):
    """Whether any order of the answered ones, with any of the open ones among them, explains all answers."""
    answered = [one for one in calls if one.complete != NEVER]
    loose = [one for one in calls if one.complete == NEVER]
    return any(
        explains(order)
        for size in range(len(loose) + 1)
        for taken in itertools.combinations(loose, size)
        for order in itertools.permutations([*answered, *taken])
    )


def test_orders_are_orders():
    seen = 0
    for seed in range(600):
        calls = drawn(seed)
        if orderable(calls):
            continue
        culprit, order = without_one(MODELS["register"].check, calls, RULES, Budget(10))
        possible = [one for one in calls if one.complete != NEVER and orderable([c for c in calls if c is not one])]
        assert (culprit is None) == (not possible)
        if culprit is not None:
            assert culprit.complete == max(one.complete for one in possible)
            assert explains(order)
            assert {one.number for one in calls if one.complete != NEVER} - {culprit.number} <= {
                one.number for one in order
            }
            seen += 1
    assert seen > 100


def test_an_open_write_stands_in_the_order_where_somebody_read_it():
    calls = [
        call(0, "read", 9, 10, output=7),
        call(1, "write", 0, NEVER, argument=1, outcome=Type.INFO),
        call(2, "read", 1, 2, output=1),
        call(3, "write", 0, NEVER, argument=5, outcome=Type.INFO),
    ]
    culprit, order = without_one(MODELS["register"].check, calls, RULES, Budget(10))
    assert culprit is calls[0]
    assert [one.number for one in order] == [1, 2]


@pytest.mark.parametrize("more", [0, 1])
def test_too_many_operations_are_left_alone(more):
    calls = [call(0, "read", 0, 1, output=9)]
    calls += [call(at, "read", 2 * at, 2 * at + 1) for at in range(1, MOST + more)]
    culprit, _ = without_one(MODELS["register"].check, calls, RULES, Budget(10))
    assert (culprit is None) == bool(more)


def test_without_time_there_is_no_order():
    calls = [call(0, "read", 0, 1, output=9), call(1, "read", 2, 3)]
    assert without_one(MODELS["register"].check, calls, RULES, Budget(0)) == (None, ())


def test_the_model_is_asked_of_whole_histories():
    """What the model says of a history with an order is what brute force says."""
    for seed in range(200):
        calls = drawn(seed)
        assert (MODELS["register"].check(Calls(calls), RULES, Budget(10)).valid is True) == orderable(calls)
