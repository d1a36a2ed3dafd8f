"""Sets, queues, counters and identifiers, as Jepsen's checkers of these names judge them.

They look for no order: what was acknowledged must be there, and what is there must have been tried. Each function says
which checker's rule it is; where that one misses something, it is found here and allowed unless ``Rules.strict``.
Source: jepsen.checker of Jepsen 0.3. The module refuses to judge by times where order is known.
"""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, Final

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from checkers.models.calls import Call, Calls, frozen
from checkers.models.finding import EXAMPLES, Answer, Found, call_text, show
from checkers.models.rules import Budget, Rules

NS_PER_MS: Final = 1_000_000

Told = list[tuple[str, tuple[Call, ...]]]


def _kinds(calls: Calls, what: str, *fs: str) -> None:
    """Other kinds of operation are passed over, as the reference does; a history of nothing else is a mistake."""
    if calls.all and not any(call.f in fs for call in calls.all):
        call = calls.all[0]
        raise HistoryError(f"op {call.number}: a {what} has no {call.f}, and no operation of the history is one of it")


def _ok(calls: Iterable[Call]) -> list[Call]:
    """The ok ones in order of their completion."""
    return sorted((call for call in calls if call.outcome is Type.OK), key=lambda call: call.complete)


def _elements(call: Call) -> list[Any]:
    if not isinstance(call.output, list | tuple | set | frozenset):
        raise HistoryError(f"op {call.number}: a {call.f} must return elements, not {show(call.output)}")
    return list(call.output)


def _missing(name: str, who: list[Call], text: str, *, allowed: bool = False) -> dict[str, Found]:
    """An anomaly with one operation and one sentence per occurrence; nothing if there is none."""
    if not who:
        return {}
    told: Told = [(f"{call_text(call)} {text}", (call,)) for call in who[:EXAMPLES]]
    return {name: Found(count=len(who), allowed=allowed, examples=told)}


def _strange(name: str, values: list[tuple[Any, Call]], text: str, *, allowed: bool = False) -> dict[str, Found]:
    """Values with the operation that showed them."""
    if not values:
        return {}
    shown: Told = [(f"{call_text(call)} {text.format(show(value))}", (call,)) for value, call in values[:EXAMPLES]]
    return {name: Found(count=len(values), allowed=allowed, examples=shown)}


def final_set(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``set``: every acknowledged element is in the last ok read, and that holds nothing that nobody tried to add.

    Raises:
        HistoryError: an operation that a set does not have.
    """
    _kinds(calls, "set", "add", "read")
    adds = calls.of("add")
    reads = _ok(calls.of("read"))
    if not reads or reads[-1].output is None:
        return Answer(reason="the set was never read")
    last = reads[-1]
    there: dict[Hashable, Any] = {frozen(one): one for one in _elements(last)}
    tried = {frozen(call.argument) for call in adds}
    acked: dict[Hashable, Call] = {}
    for call in adds:
        if call.outcome is Type.OK:
            acked.setdefault(frozen(call.argument), call)
    lost = [call for value, call in acked.items() if value not in there]
    strange = [(shown, last) for value, shown in there.items() if value not in tried]
    recovered = sum(value in tried and value not in acked for value in there)
    return Answer(
        found={
            **_missing("lost-write", lost, f"was acknowledged and is not in the last read (op {last.number})"),
            **_strange("phantom", strange, "returned {}, which nobody tried to add"),
        },
        facts={"attempted": len(tried), "acknowledged": len(acked), "recovered": recovered},
    )


def total_queue(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``total-queue``: what was put in came out, and nothing else did. Duplicates are told and do not count.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    _kinds(calls, "queue", "enqueue", "dequeue", "drain")
    out: list[tuple[Hashable, Any, Call]] = []
    for call in _ok(calls.of("dequeue", "drain")):
        values = [call.output] if call.f == "dequeue" else _elements(call)
        out += [(frozen(value), value, call) for value in values]
    tried = Counter(frozen(call.argument) for call in calls.of("enqueue"))
    came = Counter(value for value, _, _ in out)
    lost = []
    left = Counter(came)
    for call in _ok(calls.of("enqueue")):
        value = frozen(call.argument)
        if left[value]:
            left[value] -= 1
        else:
            lost.append(call)
    strange = [(shown, call) for value, shown, call in out if value not in tried]
    twice, seen = [], Counter[Hashable]()
    for value, shown, call in out:
        seen[value] += 1
        if value in tried and seen[value] > tried[value]:
            twice.append((shown, call))
    crashed = [call for call in calls.of("drain") if call.outcome is Type.INFO]
    if crashed:
        lost = []  # it may have come out there
    return Answer(
        found={
            **_missing("lost-write", lost, "was acknowledged and never came out"),
            **_strange("phantom", strange, "gave {}, which nobody tried to put in"),
            **_strange("duplicate", twice, "gave {} more often than it was put in", allowed=not rules.strict),
        },
        reason=f"{call_text(crashed[0])} did not end: what it took is not known" if crashed else "",
        facts={"attempted": tried.total(), "came out": len(out)},
    )


def plain_queue(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``queue``: at no moment had more of a value come out than anybody had tried to put in.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    _kinds(calls, "queue", "enqueue", "dequeue")
    events: list[tuple[int, int, Call]] = [(call.invoke, 0, call) for call in calls.of("enqueue")]
    events += [(call.complete, 1, call) for call in _ok(calls.of("dequeue"))]
    inside: Counter[Hashable] = Counter()
    ever: set[Hashable] = set()
    strange: list[tuple[Any, Call]] = []
    twice: list[tuple[Any, Call]] = []
    for _, out, call in sorted(events, key=lambda event: event[:2]):
        value = frozen(call.output if out else call.argument)
        if not out:
            inside[value] += 1
            ever.add(value)
        elif inside[value]:
            inside[value] -= 1
        else:
            (twice if value in ever else strange).append((call.output, call))
    return Answer(
        found={
            **_strange("phantom", strange, "gave {}, which nobody had tried to put in"),
            **_strange("duplicate", twice, "gave {} more often than it had been put in"),
        },
        facts={"left": inside.total()},
    )


def unique_ids(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``unique-ids``: no identifier was given twice.

    Raises:
        HistoryError: an operation that a generator does not have.
    """
    _kinds(calls, "generator of identifiers", "generate")
    first: dict[Hashable, Call] = {}
    again: dict[Hashable, tuple[Any, Call, Call]] = {}
    for call in _ok(calls.of("generate")):
        value = frozen(call.output)
        if value in first:
            again.setdefault(value, (call.output, first[value], call))
        first.setdefault(value, call)
    if not again:
        return Answer(facts={"given": len(first)})
    told: Told = [
        (f"{show(value)} was given by op {one.number} and by op {other.number}", (other, one))
        for value, one, other in list(again.values())[:EXAMPLES]
    ]
    return Answer(found={"duplicate": Found(count=len(again), examples=told)}, facts={"given": len(first)})


def counter(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``counter``: a read lies between what was acknowledged before it and what was tried until it ended.

    Raises:
        HistoryError: an operation that a counter does not have, or an addition that is not a number from 0 on.
    """
    _kinds(calls, "counter", "add", "read")
    adds = calls.of("add")
    for call in adds:
        if not isinstance(call.argument, int) or isinstance(call.argument, bool) or call.argument < 0:
            raise HistoryError(f"op {call.number}: a counter adds whole numbers from 0 on, not {show(call.argument)}")
    reads = _ok(calls.of("read"))
    for call in reads:
        if not isinstance(call.output, int) or isinstance(call.output, bool):
            raise HistoryError(f"op {call.number}: a counter's read returns a whole number, not {show(call.output)}")
    tried = sorted((call.invoke, call.argument) for call in adds if call.outcome is not Type.FAIL)
    acked = sorted((call.complete, call.argument) for call in adds if call.outcome is Type.OK)

    def summed(pairs: list[tuple[int, int]]) -> tuple[Any, list[int]]:
        sums = [0]
        for _, amount in pairs:
            sums.append(sums[-1] + amount)
        return np.array([at for at, _ in pairs], dtype=np.int64), sums

    (tried_at, upper), (acked_at, lower) = summed(tried), summed(acked)
    low = np.searchsorted(acked_at, [call.invoke for call in reads], side="left").tolist()
    high = np.searchsorted(tried_at, [call.complete for call in reads], side="right").tolist()
    bad = [
        (call, lower[a], upper[b])
        for call, a, b in zip(reads, low, high, strict=True)
        if not lower[a] <= call.output <= upper[b]
    ]
    if not bad:
        return Answer(facts={"reads": len(reads)})
    told: Told = [
        (f"{call_text(call)} returned {call.output}, where {a} had been acknowledged and {b} tried", (call,))
        for call, a, b in bad[:EXAMPLES]
    ]
    return Answer(found={"out-of-bounds": Found(count=len(bad), examples=told)}, facts={"reads": len(reads)})


class _Element:
    """What is known of one element of a set that is read often."""

    __slots__ = ("absent", "add", "known", "present")

    def __init__(self, add: Call) -> None:
        self.add = add
        self.known: tuple[int, int] | None = None  # position and time of the first event that shows it is there
        self.present: Call | None = None
        self.absent: Call | None = None


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
                self.elements[frozen(call.argument)] = _Element(call)
            elif call.f == "add":
                element = self.elements[frozen(call.argument)]
                element.known = element.known or (at, call.ended_ns)
            else:
                self._read(at, call)

    def _read(self, at: int, call: Call) -> None:
        values = _elements(call)
        there = {frozen(value): value for value in values}
        if len(there) < len(values):
            many = Counter(frozen(value) for value in values)
            self.twice += [(there[value], call) for value, number in many.items() if number > 1]
        for value, shown in there.items():
            if value not in self.elements:
                self.strange.setdefault(value, (shown, call))
        for value, element in self.elements.items():
            if value in there:
                element.known = element.known or (at, call.ended_ns)
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
    _kinds(calls, "set", "add", "read")
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
    return Answer(
        found={
            **_missing("lost-write", lost, "was known to be there and is missing from all later reads"),
            **_missing("stale-read", stale, "was missing from a read that began after it was known to be there",
                       allowed=not (rules.linearizable or rules.strict)),
            **_strange("duplicate", seen.twice, "returned {} more than once", allowed=allowed),
            **_strange("phantom", list(seen.strange.values()), "returned {}, which nobody was adding", allowed=allowed),
        },
        reason="" if stable else "no element was ever known to stay",
        facts={"attempted": len(seen.elements), "stable": stable, "never read": len(unread)},
    )  # fmt: skip
