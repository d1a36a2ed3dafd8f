"""``set-full``: a set that is read often, as Jepsen's checker of this name judges it, element by element.

Source: jepsen.checker of Jepsen 0.3. Does not look for an order; ``unordered`` does. Elements that were refused and
read, elements from nowhere and elements twice are found here: that checker does not look, so they are allowed unless
``Rules.strict``.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Any, Final

from chaos.core.op import Type
from checkers.objects.calls import Call, Calls, freeze
from checkers.objects.counting import by_call, by_value, elements, kinds, ok_calls
from checkers.objects.finding import EXAMPLES, Answer, Found
from checkers.objects.rules import Budget, Rules

FAILED: Final = "G1a"
NS_PER_MS: Final = 1_000_000


class _Element:
    """What is known of one element of a set that is read often."""

    __slots__ = ("absent", "add", "known", "present", "shown")

    def __init__(self, add: Call) -> None:
        self.add = add
        self.known: tuple[int, int] | None = None  # position and time of the first event that shows it is there
        self.shown: Call | None = None  # the operation of that event
        self.present: Call | None = None
        self.absent: Call | None = None

    def learn(self, at: int, call: Call) -> None:
        """An event showed that the element is there."""
        if self.known is None:
            self.known, self.shown = (at, call.ended_ns), call


class _Pass:
    """A pass over all events of a set that is read often.

    ``strange``: values read that nobody was adding, with the first read; ``twice``: values twice in one read.
    """

    def __init__(self, calls: Calls) -> None:
        self.elements: dict[Hashable, _Element] = {}
        self.strange: dict[Hashable, tuple[Any, Call]] = {}
        self.twice: list[tuple[Any, Call]] = []
        events: list[tuple[int, int, Call]] = [(call.invoke, 0, call) for call in calls.of("add")]
        events += [(call.complete, 1, call) for call in calls.of("add", "read") if call.outcome is Type.OK]
        for at, done, call in sorted(events, key=lambda event: event[:2]):
            if not done:
                self.elements[freeze(call.argument)] = _Element(call)
            elif call.f == "add":
                element = self.elements[freeze(call.argument)]
                element.learn(at, call)
            else:
                self._read(at, call)

    def _read(self, at: int, call: Call) -> None:
        values = elements(call)
        there = {freeze(value): value for value in values}
        if len(there) < len(values):
            many = Counter(freeze(value) for value in values)
            self.twice += [(there[value], call) for value, number in many.items() if number > 1]
        for value, shown in there.items():
            if value not in self.elements:
                self.strange.setdefault(value, (shown, call))
        for value, element in self.elements.items():
            if value in there:
                element.learn(at, call)
                if element.present is None or element.present.invoke < call.invoke:
                    element.present = call
            elif element.absent is None or element.absent.invoke < call.invoke:
                element.absent = call


def _stale(element: _Element) -> bool:
    """Whether a stable element was missing from a read that began after it was known to be there."""
    if element.absent is None or element.known is None:
        return False
    if element.absent.began_ns < 0 or element.known[1] < 0:
        return element.absent.invoke > element.known[0]
    return element.absent.began_ns + 1 - element.known[1] >= NS_PER_MS


def full_set(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``set-full``: no element is gone for good once it was known; with ``linearizable``, no read missed one either.

    Latencies are in whole milliseconds, as in the reference: a read that began less than one after an element was known
    is not stale.

    Raises:
        HistoryError: an operation that a set does not have.
    """
    kinds(calls, "set", "add", "read")
    seen = _Pass(calls)
    stable = 0
    lost: list[Call] = []
    stale: list[Call] = []
    unread: list[Call] = []
    for element in seen.elements.values():
        present = element.present.invoke if element.present is not None else -1
        absent = element.absent.invoke if element.absent is not None else -1
        if element.present is not None and absent < present:
            stable += 1
            if _stale(element):
                stale.append(element.add)
        elif element.known is not None and element.absent is not None and element.known[0] < absent:
            lost.append(element.add)
        else:
            unread.append(element.add)
    allowed = not rules.strict

    def beside(add: Call) -> list[Call]:
        own = seen.elements[freeze(add.argument)]
        return [call for call in (own.shown, own.absent, own.present) if call is not None]

    return Answer(
        found={
            **by_call(
                "lost-write",
                lost,
                "was known to be there and is missing from all later reads",
                beside=beside,
                shown_whole=EXAMPLES,
            ),
            **by_call(
                "stale-read",
                stale,
                "was missing from a read that began after it was known to be there",
                allowed=not (rules.linearizable or rules.strict),
                beside=beside,
                shown_whole=EXAMPLES,
            ),
            **refused_but_read(calls, allowed=allowed),
            **by_value("duplicate", seen.twice, "returned {} more than once", allowed=allowed),
            **by_value("phantom", list(seen.strange.values()), "returned {}, which nobody was adding", allowed=allowed),
        },
        reason="" if stable else "no element was ever known to stay",
        facts={"attempted": len(seen.elements), "stable": stable, "never read": len(unread)},
    )


def refused_but_read(calls: Calls, *, allowed: bool) -> dict[str, Found]:
    """Elements that ok reads show although each of their adds failed for certain, with the first read of each."""
    adds = calls.of("add")
    perhaps = {freeze(one.argument) for one in adds if one.outcome is not Type.FAIL}
    refused = {own: one for one in adds if (own := freeze(one.argument)) not in perhaps}
    shown: dict[Hashable, tuple[Any, Call]] = {}
    for read in ok_calls(calls.of("read")) if refused else ():
        for value in elements(read):
            if (own := freeze(value)) in refused:
                shown.setdefault(own, (value, read))
    sentence = "returned {}, whose add had failed for certain"
    told = list(shown.values())
    return by_value(FAILED, told, sentence, allowed=allowed, beside=lambda value, _: [refused[freeze(value)]])
