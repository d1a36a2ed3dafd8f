"""The models by name, and one object after another.

The module refuses to read files and to schedule: it is given objects and answers for each.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from checkers.models import bags, fifo, full_set, kv, mutex, order, register, unordered
from checkers.models.calls import Calls
from checkers.models.finding import EXAMPLES, Answer, Found, show
from checkers.models.rules import Budget, Rules

Model = Callable[[Calls, Rules, Budget], Answer]


def _either(counted: Model, linear: Model) -> Model:
    """A model with two readings: what Jepsen's checker of its name counts, or linearizability."""

    def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:
        return (linear if rules.linearizable else counted)(calls, rules, budget)

    return check


MODELS: Final[Mapping[str, Model]] = {
    "register": register.check,
    "cas-register": register.check,
    "kv": kv.check,
    "mutex": mutex.check,
    "set": _either(bags.final_set, unordered.linear_set),
    "set-full": full_set.full_set,
    "queue": _either(bags.plain_queue, unordered.linear_queue),
    "total-queue": bags.total_queue,
    "fifo-queue": fifo.check,
    "counter": bags.counter,
    "unique-ids": bags.unique_ids,
    "order": order.check,
}


def merged(answers: Iterable[tuple[object, Answer]]) -> Answer:
    """The answers for several objects as one, each sentence with its object's key (None: there is one object)."""
    found: dict[str, Found] = {}
    reasons: list[str] = []
    for key, answer in answers:
        where = "" if key is None else f"key {show(key)}: "
        for name, one in answer.found.items():
            told = [(f"{where}{sentence}", calls) for sentence, calls in one.examples]
            before = found.get(name, Found(count=0, allowed=one.allowed))
            found[name] = Found(
                count=before.count + one.count,
                allowed=before.allowed and one.allowed,
                examples=[*before.examples, *told][:EXAMPLES],
            )
        if answer.reason:
            reasons.append(f"{where}{answer.reason}")
    more = f"; and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    return Answer(found=found, reason=f"{reasons[0]}{more}" if reasons else "")
