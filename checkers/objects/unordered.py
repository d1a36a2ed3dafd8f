"""Sets and unordered queues as objects whose operations must be linearizable (``--linearizable``), without a search.

A set only grows, so its reads must form a chain of sets, and an element's first add stands between the last of them
without it and the first with it. That gives each operation a window of places in the chain, and what completed before
another was invoked must not stand behind it (the rank scan of the log with offsets). Of several adds of an element any
may be the first: the one that was invoked first, which least stands before.

A queue that gives in any order has values that know nothing of each other: an enqueue takes effect when it begins, a
dequeue when it ends, and at no moment may more of a value have come out than was put in.

The semantics are those of Knossos' ``set`` and ``unordered-queue``. What failed did nothing. Does not count what is
missing: ``bags`` does.
"""

from collections import Counter
from collections.abc import Hashable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from checkers.objects.calls import Call, Calls, Ints, ends, freeze, thaw
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text, show
from checkers.objects.linearization_answer import NAME
from checkers.objects.rules import Budget, Rules

Elements = frozenset[Hashable]
Told = tuple[str, tuple[Call, ...]]


def elements(call: Call, rules: Rules) -> Elements | None:
    """What an ok read of a set saw; None if it tells nothing.

    Raises:
        HistoryError: the read returned something else.
    """
    if call.outcome is not Type.OK or (call.output is None and rules.nil_means == "any"):
        return None
    if call.output is None:
        return frozenset()
    if not isinstance(call.output, list | tuple | set | frozenset):
        raise HistoryError(f"op {call.number}: a read of a set returns elements, not {show(call.output)}")
    return frozenset(map(freeze, call.output))


class _Window(NamedTuple):
    """An operation and the first and last place where it may stand in the chain of reads."""

    call: Call
    first: int
    last: int


def _fork(reads: list[tuple[Elements, Call]]) -> Told | None:
    """Two reads of which none can be before the other; ``reads`` ascend by size."""
    for (less, one), (more, other) in pairwise(reads):
        if not less <= more:
            missing, extra = min(less - more, key=str), min(more - less, key=str, default=None)
            sentence = f"{call_text(one)} saw {show(thaw(missing))}, which {call_text(other)} did not see"
            if extra is not None:
                sentence += f", but it did see {show(thaw(extra))}, which the first did not"
            return f"{sentence}: neither can be before the other", (other, one)
    return None


def _windows(adds: list[Call], reads: list[tuple[Elements, Call]]) -> list[_Window] | Told:
    """Where everybody may stand: reads at even places, adds at odd ones; or a read of what nobody added."""
    out: list[_Window] = []
    place: dict[Hashable, int] = {}
    before: Elements = frozenset()
    level = 0
    tried = {freeze(call.argument) for call in adds}
    for seen, call in reads:
        level += len(seen) > len(before)
        if strange := seen - before - tried:
            return f"{call_text(call)} saw {show(thaw(min(strange, key=str)))}, which nobody added", (call,)
        place.update(dict.fromkeys(seen - before, 2 * level - 1))
        out.append(_Window(call, 2 * level, 2 * level))
        before = seen
    end = 2 * level + 1
    known: set[Hashable] = set()
    for call in adds:
        value = freeze(call.argument)
        first = place.get(value, end)
        out.append(_Window(call, first, end if value in known else first))
        known.add(value)
    return out


def _against_time(windows: list[_Window]) -> list[Told]:
    """Operations that were invoked after one completed that must stand behind them."""
    invoke, complete = ends([one.call for one in windows])
    first = np.array([one.first for one in windows], dtype=np.int64)
    last = np.array([one.last for one in windows], dtype=np.int64)
    order = np.argsort(complete, kind="stable")
    highest: Ints = np.maximum.accumulate(first[order])
    before = np.searchsorted(complete[order], invoke)
    late = np.flatnonzero((before > 0) & (highest[np.maximum(before - 1, 0)] > last))
    out: list[Told] = []
    for i in late[:EXAMPLES].tolist():
        other = windows[int(order[int(np.argmax(first[order][: before[i]]))])].call
        call = windows[i].call
        sentence = f"{call_text(other)} had completed before {call_text(call)} began, but can only stand behind it"
        out.append((sentence, (call, other)))
    return out


def linear_set(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """Whether the operations of one set are linearizable. Takes a sort and what comparing neighbouring reads takes.

    Raises:
        HistoryError: an operation that a set does not have.
    """
    adds: list[Call] = []
    reads: list[tuple[Elements, Call]] = []
    for call in calls.all:
        if call.f not in ("add", "read"):
            raise HistoryError(f"op {call.number}: a set has no {call.f}")
        if call.f == "add":
            if call.outcome is not Type.FAIL:
                adds.append(call)
        elif (seen := elements(call, rules)) is not None:
            reads.append((seen, call))
    reads.sort(key=lambda one: len(one[0]))
    fork = _fork(reads)
    if fork is not None:
        return _answer([fork])
    windows = _windows(adds, reads)
    return _answer(_against_time(windows) if isinstance(windows, list) else [windows])


def linear_queue(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """Whether the operations of one unordered queue are linearizable.

    A dequeue of which nobody knows what it took takes nothing: nobody can tell that anything is gone.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    events: list[tuple[int, int, Call]] = []
    for call in calls.all:
        if call.f not in ("enqueue", "dequeue"):
            raise HistoryError(f"op {call.number}: a queue has no {call.f}")
        if call.f == "enqueue" and call.outcome is not Type.FAIL:
            events.append((call.invoke, 0, call))
        elif call.f == "dequeue" and call.outcome is Type.OK:
            events.append((call.complete, 1, call))
    inside: Counter[Hashable] = Counter()
    wrong: list[Told] = []
    for _, out, call in sorted(events, key=lambda event: event[:2]):
        value = freeze(call.output if out else call.argument)
        inside[value] += -1 if out else 1
        if inside[value] < 0:
            inside[value] = 0
            wrong.append((f"{call_text(call)} gave more of it than anybody had put in until then", (call,)))
    return _answer(wrong)


def _answer(wrong: list[Told]) -> Answer:
    return Answer(found={NAME: Found(count=len(wrong), examples=wrong[:EXAMPLES])} if wrong else {})
