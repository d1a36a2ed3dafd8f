"""The smallest sub-history that still is not linearizable, judged by the model itself.

Delta debugging (Zeller and Hildebrandt, TSE 2002), in its simplest form, over what may be left out; see
``smaller_histories``. The values that the finding names are tried first, because they often suffice, then what was
invoked until the guilty operation ended, then what is behind a write. Operations are left out whole and never cut. When
the budget is spent, what is left is still wrong, and perhaps not the smallest.
"""

from collections.abc import Callable, Sequence
from typing import Final

from checkers.objects.calls import Call, Calls, end_of
from checkers.objects.finding import Answer, Found
from checkers.objects.linearization_answer import NAME
from checkers.objects.rules import Budget, Rules
from checkers.objects.smaller_histories import PARTS, PartsOf, calls_after_reset
from checkers.objects.witness import without_one

CHECKS: Final = 1000
"""How often one minimisation asks the model at most."""

SECONDS: Final = 10.0
"""How long it looks at most, where the search had no less."""

Check = Callable[[Calls, Rules, Budget], Answer]


class _Shrinking:
    """A history that is wrong, and ever less of it."""

    def __init__(self, check: Check, parts_of: PartsOf, rules: Rules, calls: Calls, seconds: float) -> None:
        self._check = check
        self._parts_of = parts_of
        self._rules = rules
        self._budget = Budget(seconds)
        self._left = CHECKS
        self.calls = calls

    def more(self) -> bool:
        """Whether the model may be asked again."""
        return self._left > 0 and self._budget.spent(0) is None

    def try_only(self, keep: Sequence[int]) -> bool:
        """Go on with these positions alone if they are still wrong."""
        if len(keep) == len(self.calls) or not self.more():
            return False
        self._left -= 1
        fewer = self.calls.only(keep)
        if self._check(fewer, self._rules, self._budget).valid is not False:
            return False
        self.calls = fewer
        return True

    def _without(self, calls: Sequence[Call]) -> bool:
        gone = set(map(id, calls))
        return self.try_only([i for i, call in enumerate(self.calls.all) if id(call) not in gone])

    def leave_out(self, units: list[list[Call]]) -> None:
        """Units are left out, many at a time and then fewer, as long as the rest is wrong.

        A pass over the units for each size and not ``chaos.basics.delta_debugging``, which begins again with larger
        parts after each that could go: the model is slow, and what stands is kept in ``calls`` at once.
        """
        size = len(units)
        while size and self.more():
            at, shrunk = 0, False
            while at < len(units):
                if self._without([call for unit in units[at : at + size] for call in unit]):
                    del units[at : at + size]
                    shrunk = True
                else:
                    at += size
            size = min(size, len(units)) if shrunk and size == 1 else size // 2

    def narrow(self, guilty: Sequence[Call]) -> None:
        """Leave out who says nothing, then all that the guilty ones' values do not need, then what came later."""
        parts = self._parts_of(self.calls, self._rules)
        silent = set(parts.silent)
        self.try_only([i for i in range(len(self.calls)) if i not in silent])
        named = set(map(id, guilty))
        groups = self._parts_of(self.calls, self._rules).groups
        every = self.calls.all
        others = {i for group in groups if not any(id(every[i]) in named for i in group) for i in group}
        self.try_only([i for i in range(len(every)) if i not in others])
        end = max(end_of(call) for call in guilty)
        self.try_only([i for i, call in enumerate(self.calls.all) if call.invoke <= end])

    def forget(self) -> None:
        """Leave out what was before the last write behind which it is still wrong."""
        whole = self.calls
        parts = self._parts_of(whole, self._rules)
        low, high = 0, len(parts.resets)
        while low < high:
            middle = (low + high) // 2
            self.calls, so_far = whole, self.calls
            keep = calls_after_reset(whole, parts, parts.resets[middle])
            if keep is not None and self.try_only(keep):
                low = middle + 1
            else:
                self.calls, high = so_far, middle

    def shrink(self) -> None:
        """What was before, then values, then observers, then the values that only observers held."""
        self.forget()
        for observers in (False, True, False):
            parts = self._parts_of(self.calls, self._rules)
            groups = [[i] for i in parts.observers] if observers else parts.groups
            self.leave_out([[self.calls.all[i] for i in group] for group in groups])


def minimise(
    model: str, check: Check, calls: Calls, rules: Rules, guilty: Sequence[Call], seconds: float = SECONDS
) -> Calls:
    """The smallest sub-history found that is not linearizable.

    Args:
        model: its name, one of ``PARTS``.
        check: the model.
        calls: a history that it finds wrong.
        rules: as it was judged.
        guilty: the operations of the finding.
        seconds: when to be content with what is left.
    """
    shrinking = _Shrinking(check, PARTS[model], rules, calls, seconds)
    shrinking.narrow(guilty)
    shrinking.shrink()
    return shrinking.calls


def explain(model: str, check: Check, calls: Calls, rules: Rules, answer: Answer, budget: Budget) -> Answer:
    """The answer with the smallest sub-history in place of its first example of a missing order.

    The sentence is what the model says of that, so that it names what is shown: the guilty ones first, then the rest as
    they were invoked. The first of all is one without which the others have an order, and that order is told. Other
    anomalies come with the operations that show them as they are.
    """
    found = answer.found.get(NAME)
    if found is None or model not in PARTS:
        return answer
    (_, guilty), *others = found.examples
    seconds = min(SECONDS, budget.seconds)
    least = minimise(model, check, calls, rules, guilty, seconds)
    again = check(least, rules, Budget(seconds)).found.get(NAME, found)
    sentence, first = again.examples[0]
    told = tuple({id(call): call for call in (*first, *least.all)}.values())
    culprit, order = without_one(check, told, rules, Budget(seconds))
    if culprit is not None:
        told = (culprit, *(call for call in told if call is not culprit))
    numbers = tuple(call.number for call in order)
    shown = Found(count=found.count, allowed=found.allowed, examples=[(sentence, told), *others], order=numbers)
    return Answer(found={**answer.found, NAME: shown}, reason=answer.reason, facts=answer.facts)
