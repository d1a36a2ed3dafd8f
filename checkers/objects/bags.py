"""Sets, queues, counters and identifiers, as Jepsen's checkers of these names judge them.

They look for no order: what was acknowledged must be there, and what is there must have been tried. Each function says
which checker's rule it is; where that one misses something, it is found here and allowed unless ``Rules.strict``.
Source: jepsen.checker of Jepsen 0.3. Does not judge by times where order is known.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from checkers.objects.calls import Call, Calls, freeze
from checkers.objects.counting import Told, by_call, by_value, elements, kinds, ok_calls
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text, show
from checkers.objects.rules import Budget, Rules


def final_set(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``set``: every acknowledged element is in the last ok read, and that holds nothing that nobody tried to add.

    Raises:
        HistoryError: an operation that a set does not have.
    """
    kinds(calls, "set", "add", "read")
    adds = calls.of("add")
    reads = ok_calls(calls.of("read"))
    if not reads or reads[-1].output is None:
        return Answer(reason="the set was never read")
    last = reads[-1]
    there: dict[Hashable, Any] = {freeze(one): one for one in elements(last)}
    tried = {freeze(call.argument) for call in adds}
    acked: dict[Hashable, Call] = {}
    for call in adds:
        if call.outcome is Type.OK:
            acked.setdefault(freeze(call.argument), call)
    lost = [call for value, call in acked.items() if value not in there]
    strange = [(shown, last) for value, shown in there.items() if value not in tried]
    recovered = sum(value in tried and value not in acked for value in there)
    return Answer(
        found={
            **by_call(
                "lost-write",
                lost,
                f"was acknowledged and is not in the last read (op {last.number})",
                beside=lambda _: (last,),
            ),
            **by_value("phantom", strange, "returned {}, which nobody tried to add"),
        },
        facts={"attempted": len(tried), "acknowledged": len(acked), "recovered": recovered},
    )


def _about(calls: Calls, value: Any) -> list[Call]:
    """Who put a value into a queue or may have taken it out."""
    own = freeze(value)

    def has(call: Call) -> bool:
        if call.f == "enqueue":
            return freeze(call.argument) == own
        if call.outcome is not Type.OK:
            return False
        return own in map(freeze, elements(call)) if call.f == "drain" else freeze(call.output) == own

    return [call for call in calls.all if has(call)]


def _came(calls: Calls) -> list[tuple[Hashable, Any, Call]]:
    """What came out, in order of completion: value as a key, value, who gave it."""
    out: list[tuple[Hashable, Any, Call]] = []
    for call in ok_calls(calls.of("dequeue", "drain")):
        values = [call.output] if call.f == "dequeue" else elements(call)
        out += [(freeze(value), value, call) for value in values]
    return out


def unreturned_values(calls: Calls) -> list[Call] | None:
    """The acknowledged enqueues whose values never came out; None if nobody can tell, for a drain did not end."""
    if any(call.outcome is Type.INFO for call in calls.of("drain")):
        return None
    left = Counter(value for value, _, _ in _came(calls))
    lost = []
    for call in ok_calls(calls.of("enqueue")):
        value = freeze(call.argument)
        if left[value]:
            left[value] -= 1
        else:
            lost.append(call)
    return lost


def total_queue(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``total-queue``: what was put in came out, and nothing else did. Duplicates are told and do not count.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    kinds(calls, "queue", "enqueue", "dequeue", "drain")
    out = _came(calls)
    tried = Counter(freeze(call.argument) for call in calls.of("enqueue"))
    lost = unreturned_values(calls) or []
    strange = [(shown, call) for value, shown, call in out if value not in tried]
    twice, seen = [], Counter[Hashable]()
    for value, shown, call in out:
        seen[value] += 1
        if value in tried and seen[value] > tried[value]:
            twice.append((shown, call))
    crashed = [call for call in calls.of("drain") if call.outcome is Type.INFO]
    return Answer(
        found={
            **by_call(
                "lost-write",
                lost,
                "was acknowledged and never came out",
                beside=lambda call: _about(calls, call.argument),
            ),
            **by_value("phantom", strange, "gave {}, which nobody tried to put in"),
            **by_value(
                "duplicate",
                twice,
                "gave {} more often than it was put in",
                allowed=not rules.strict,
                beside=lambda value, _: _about(calls, value),
            ),
        },
        reason=f"{call_text(crashed[0])} did not end: what it took is not known" if crashed else "",
        facts={"attempted": tried.total(), "came out": len(out)},
    )


def plain_queue(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``queue``: at no moment had more of a value come out than anybody had tried to put in.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    kinds(calls, "queue", "enqueue", "dequeue")
    events: list[tuple[int, int, Call]] = [(call.invoke, 0, call) for call in calls.of("enqueue")]
    events += [(call.complete, 1, call) for call in ok_calls(calls.of("dequeue"))]
    inside: Counter[Hashable] = Counter()
    ever: set[Hashable] = set()
    strange: list[tuple[Any, Call]] = []
    twice: list[tuple[Any, Call]] = []
    for _, out, call in sorted(events, key=lambda event: event[:2]):
        value = freeze(call.output if out else call.argument)
        if not out:
            inside[value] += 1
            ever.add(value)
        elif inside[value]:
            inside[value] -= 1
        else:
            (twice if value in ever else strange).append((call.output, call))
    return Answer(
        found={
            **by_value("phantom", strange, "gave {}, which nobody had tried to put in"),
            **by_value(
                "duplicate",
                twice,
                "gave {} more often than it had been put in",
                beside=lambda value, _: _about(calls, value),
            ),
        },
        facts={"left": inside.total()},
    )


def unique_ids(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``unique-ids``: no identifier was given twice.

    Raises:
        HistoryError: an operation that a generator does not have.
    """
    kinds(calls, "generator of identifiers", "generate")
    first: dict[Hashable, Call] = {}
    again: dict[Hashable, tuple[Any, Call, Call]] = {}
    for call in ok_calls(calls.of("generate")):
        value = freeze(call.output)
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


def _too_much_or_little(adds: list[Call], read: Call) -> list[Call]:
    """The fewest additions that a read lacks; or all that it may have seen, if they are not enough for it."""
    acked = [call for call in adds if call.outcome is Type.OK and call.complete < read.invoke]
    lacking: list[Call] = []
    total = 0
    for call in sorted(acked, key=lambda call: -int(call.argument)):
        if total > read.output:
            break
        lacking.append(call)
        total += call.argument
    if total > read.output:
        return lacking
    return [call for call in adds if call.outcome is not Type.FAIL and call.invoke <= read.complete]


def counter(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """``counter``: a read lies between what was acknowledged before it and what was tried until it ended.

    Raises:
        HistoryError: an operation that a counter does not have, or an addition that is not a number from 0 on.
    """
    kinds(calls, "counter", "add", "read")
    adds = calls.of("add")
    for call in adds:
        if not isinstance(call.argument, int) or isinstance(call.argument, bool) or call.argument < 0:
            raise HistoryError(f"op {call.number}: a counter adds whole numbers from 0 on, not {show(call.argument)}")
    reads = ok_calls(calls.of("read"))
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
    told[0] = told[0][0], (bad[0][0], *_too_much_or_little(adds, bad[0][0]))
    return Answer(found={"out-of-bounds": Found(count=len(bad), examples=told)}, facts={"reads": len(reads)})
