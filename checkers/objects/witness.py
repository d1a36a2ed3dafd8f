"""An order that explains operations, told by a model that only says whether there is one.

Operations are fixed one by one: one may come next if the model still finds an order when it is said to have happened by
itself right then. For a few operations, as minimised histories have.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls, end_of
from checkers.objects.finding import Answer
from checkers.objects.rules import Budget, Rules

MOST: Final = 40
"""No order is looked for among more operations: the model is asked for each of them at each place."""

Check = Callable[[Calls, Rules, Budget], Answer]


class _Model:
    """A model, the rules, and what may be spent on asking it."""

    def __init__(self, check: Check, rules: Rules, budget: Budget) -> None:
        self._check = check
        self._rules = rules
        self._budget = budget

    def explains(self, calls: Sequence[Call]) -> bool:
        """Whether there is an order, and time was left to look."""
        return self._budget.spent(0) is None and self._check(Calls(calls), self._rules, self._budget).valid is True


def without_one(
    check: Check, calls: Sequence[Call], rules: Rules, budget: Budget
) -> tuple[Call | None, tuple[Call, ...]]:
    """The last operation to end without which the others have an order, and that order.

    Args:
        check: the model.
        calls: operations that it finds no order for.
        rules: as they were judged.
        budget: what may be spent on looking; without more there is nobody and no order.
    """
    model = _Model(check, rules, budget)
    answered = sorted((call for call in calls if end_of(call) != NEVER), key=end_of, reverse=True)
    for culprit in answered if len(calls) <= MOST else ():
        others = [call for call in calls if call is not culprit]
        if model.explains(others):
            return culprit, _order(model, others)
    return None, ()


def _order(model: _Model, calls: Sequence[Call]) -> tuple[Call, ...]:
    """An order of operations that have one; open ones are in it only where others need them."""
    fixed: list[Call] = []
    left = sorted(calls, key=lambda call: (end_of(call) == NEVER, call.invoke))
    while any(end_of(call) != NEVER for call in left):
        horizon = min(end_of(call) for call in left)
        at_hand = [call for call in left if call.invoke <= horizon]
        found = next((one for one in at_hand if model.explains(_fixed([*fixed, one], left))), None)
        if found is None:
            return ()
        fixed.append(found)
        left.remove(found)
    return tuple(fixed)


def _fixed(first: Sequence[Call], calls: Sequence[Call]) -> list[Call]:
    """The operations that are fixed, one after the other and by themselves, then the others as they are."""
    shift = 2 * len(first) + 1 - min(0, *(call.invoke for call in calls))
    alone = [
        msgspec.structs.replace(call, invoke=2 * place, complete=2 * place + 1, outcome=_taken(call))
        for place, call in enumerate(first)
    ]
    rest = [
        msgspec.structs.replace(call, invoke=call.invoke + shift, complete=min(NEVER, call.complete + shift))
        for call in calls
        if call is not first[-1]
    ]
    return [*alone, *rest]


def _taken(call: Call) -> Type:
    """What became of an operation that is said to have happened: one in doubt did."""
    return Type.OK if call.outcome is Type.INFO else call.outcome
