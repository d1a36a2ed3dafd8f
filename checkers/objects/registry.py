"""The models by name, and one object after another.

Does not read files: it takes objects and gives an answer for each.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from chaos.formats.missing import UNDONE, Missing, Stands
from checkers.objects import (
    bags,
    bank,
    fifo,
    full_set,
    kv,
    long_fork,
    monotonic,
    multi_register,
    mutex,
    order,
    register,
    unordered,
)
from checkers.objects.calls import Calls
from checkers.objects.finding import EXAMPLES, Answer, Found, show
from checkers.objects.linearization_answer import NAME
from checkers.objects.rules import Budget, Rules

Check = Callable[[Calls, Rules, Budget], Answer]


class Model(NamedTuple):
    """A model: how operations are judged, and what stands of that where the history goes on.

    ``stands``: of each anomaly that it can find, the most that may be missing of a history for it to stand.
    ``together``: a key, where the format has one (a sharding key), names no object of its own, unless keys are said to
    be independent.
    """

    check: Check
    stands: Stands
    together: bool = False


def _either(counted: Check, linear: Check) -> Check:
    """A model with two readings: what Jepsen's checker of its name counts, or linearizability."""

    def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:
        return (linear if rules.linearizable else counted)(calls, rules, budget)

    return check


MODELS: Final[Mapping[str, Model]] = {
    "register": Model(register.check, {NAME: Missing.LATER}),
    "cas-register": Model(register.check, {NAME: Missing.LATER}),
    "multi-register": Model(multi_register.check, {NAME: Missing.LATER}),
    "kv": Model(kv.check, {NAME: Missing.LATER}),
    "mutex": Model(mutex.check, {NAME: Missing.LATER}),
    "set": Model(  # the last read alone decides, and there may be a later one
        _either(bags.final_set, unordered.linear_set),
        {"lost-write": UNDONE, "phantom": UNDONE, NAME: Missing.LATER},
        together=True,
    ),
    "set-full": Model(  # a later read may show what is gone; an element is added once
        full_set.full_set,
        {
            "lost-write": UNDONE,
            "stale-read": Missing.ANY,
            full_set.FAILED: Missing.ANY,
            "duplicate": Missing.ANY,
            "phantom": Missing.DELIVERIES,
        },
        together=True,
    ),
    "queue": Model(  # what is given counts when it was given, what is put in when that began
        _either(bags.plain_queue, unordered.linear_queue),
        {"phantom": Missing.DELIVERIES, "duplicate": Missing.DELIVERIES, NAME: Missing.DELIVERIES},
        together=True,
    ),
    "total-queue": Model(  # nobody asks when anything was put in or came out
        bags.total_queue,
        {"lost-write": UNDONE, "phantom": UNDONE, "duplicate": UNDONE},
        together=True,
    ),
    "fifo-queue": Model(fifo.check, {NAME: Missing.LATER}),
    "counter": Model(bags.counter, {"out-of-bounds": Missing.DELIVERIES}, together=True),
    "unique-ids": Model(bags.unique_ids, {"duplicate": Missing.ANY}, together=True),
    "order": Model(order.check, {"order": Missing.DELIVERIES}),
    "bank": Model(bank.check, dict.fromkeys(bank.NAMES, Missing.ANY), together=True),  # two totals are never both right
    "long-fork": Model(long_fork.check, {long_fork.NAME: Missing.ANY}, together=True),
    "monotonic": Model(monotonic.check, {monotonic.NAME: Missing.ANY}, together=True),
}


def merge_answers(answers: Iterable[tuple[object, Answer]]) -> Answer:
    """The answers for several objects as one, each sentence with its object's key (None: there is one object)."""
    found: dict[str, Found] = {}
    reasons: list[tuple[object, str]] = []
    for key, answer in answers:
        where = _where(key)
        reasons.append((key, answer.reason))
        for name, one in answer.found.items():
            told = [(f"{where}{sentence}", calls) for sentence, calls in one.examples]
            before = found.get(name, Found(count=0, allowed=one.allowed))
            found[name] = Found(
                count=before.count + one.count,
                allowed=before.allowed and one.allowed,
                examples=[*before.examples, *told][:EXAMPLES],
                order=before.order if before.examples else one.order,
            )
    return Answer(found=found, reason=undecided_reason(reasons))


def undecided_reason(reasons: Iterable[tuple[object, str]]) -> str:
    """Why objects are not decided: the first reason with its object's key, and how many more there are; else empty."""
    given = [f"{_where(key)}{reason}" for key, reason in reasons if reason]
    more = f"; and {len(given) - 1} more" if len(given) > 1 else ""
    return f"{given[0]}{more}" if given else ""


def _where(key: object) -> str:
    return "" if key is None else f"key {show(key)}: "
