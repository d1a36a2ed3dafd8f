"""Registers: read, write and compare-and-set.

Where every value is written once and nothing compares, the answer takes a sort (Gibbons and Korach, Testing shared
memories, 1997, section 4): the operations of one value form a zone, and two zones that must both go before each other
are all that can be wrong. Where some compare and every value is made once, zones are of chains (``register_chains``).
Everything else is searched, and what is so short that a search is faster. Does not decide what a nil read means;
``Rules`` says.
"""

from collections.abc import Hashable
from typing import Any, Final, NamedTuple

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls, Ints, end_of, ends, freeze
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text, show
from checkers.objects.linearization_answer import NAME, end_of_order, linearization_answer
from checkers.objects.linearization_search import Step
from checkers.objects.register_chains import BEFORE_ALL, Steps, Zones, conflicts, has_order
from checkers.objects.rules import Budget, Rules
from checkers.objects.specs import BLIND_CAS, CAS, NOT_CAS, READ, WRITE, RegisterSpec

PAIR: Final = 2
FEW: Final = 64
"""Up to so many operations are searched: that is faster than columns."""


def _pair(call: Call) -> tuple[Any, Any]:
    """What a compare-and-set expects and what it writes."""
    if not isinstance(call.argument, list | tuple) or len(call.argument) != PAIR:
        raise HistoryError(f"op {call.number}: a cas needs two values, not {show(call.argument)}")
    return call.argument[0], call.argument[1]


CHANGES: Final = frozenset({WRITE, CAS, BLIND_CAS})

Meaning = tuple[int, Hashable, Hashable]


def meaning(call: Call, rules: Rules) -> Meaning | None:
    """What an operation says of the register: kind, value, new value; None if it says nothing.

    Raises:
        HistoryError: a kind of operation that a register does not have.
    """
    if call.f == "read":
        if call.outcome is not Type.OK or (call.output is None and rules.nil_means == "any"):
            return None
        return (READ, freeze(call.output), None)
    if call.f == "write":
        return (WRITE, freeze(call.argument), None) if call.outcome is not Type.FAIL else None
    if call.f != "cas":
        raise HistoryError(f"op {call.number}: a register has no {call.f}")
    old, new = (freeze(one) for one in _pair(call))
    if call.outcome is Type.FAIL:
        return (NOT_CAS, old, None) if rules.fail_observes else None
    return (CAS if call.outcome is Type.OK else BLIND_CAS, old, new)


class _Columns(NamedTuple):
    """Writes and reads, each value numbered; number 0 is what the register held at first."""

    is_write: np.ndarray[Any, np.dtype[np.bool_]]
    value: Ints
    invoke: Ints
    complete: Ints
    calls: list[Call]


def _columns(calls: list[Call], meanings: list[Meaning], init: Hashable) -> _Columns | None:
    """The columns; None if somebody compares, two writes have one value, or the first state is written again."""
    kind = np.fromiter((one[0] for one in meanings), dtype=np.int8, count=len(meanings))
    is_write = kind == WRITE
    if not (is_write | (kind == READ)).all():
        return None
    numbers: dict[Hashable, int] = {init: 0}
    value = np.fromiter(
        (numbers.setdefault(one[1], len(numbers)) for one in meanings), dtype=np.int64, count=len(meanings)
    )
    written = np.bincount(value[is_write], minlength=len(numbers))
    if written[0] or (written > 1).any():
        return None
    return _Columns(is_write, value, *ends(calls), calls)


def _steps(calls: list[Call], meanings: list[Meaning], init: Hashable) -> Steps:
    """What the calls say, as columns."""
    numbers: dict[Hashable, int] = {init: 0}
    compared = (CAS, BLIND_CAS)
    value = [numbers.setdefault(said[1], len(numbers)) for said in meanings]
    new = [numbers.setdefault(said[2], len(numbers)) if said[0] in compared else 0 for said in meanings]
    kind = np.array([said[0] for said in meanings], dtype=np.int8)
    return Steps(kind, np.array(value, dtype=np.int64), np.array(new, dtype=np.int64), *ends(calls))


def _by_zones(columns: _Columns) -> list[tuple[str, tuple[Call, ...]]]:
    """What is wrong in a history of unique writes and reads, in sentences; exact as to whether there is anything."""
    values = int(columns.value.max(initial=0)) + 1
    begun = np.full(values, NEVER, dtype=np.int64)
    begun[0] = BEFORE_ALL
    begun[columns.value[columns.is_write]] = columns.invoke[columns.is_write]
    reads = np.flatnonzero(~columns.is_write)
    wrong = reads[(columns.complete[reads] < begun[columns.value[reads]]) | (begun[columns.value[reads]] == NEVER)]
    if len(wrong):
        out: list[tuple[str, tuple[Call, ...]]] = []
        for i in wrong[:EXAMPLES].tolist():
            call = columns.calls[i]
            never = begun[columns.value[i]] == NEVER
            why = "which nobody wrote" if never else "which was written only afterwards"
            out.append((f"{call_text(call)} returned {show(call.output)}, {why}", (call,)))
        return out
    seen = np.zeros(values, dtype=np.bool_)
    seen[columns.value[reads]] = True
    counts = ~columns.is_write | (columns.complete != NEVER) | seen[columns.value]
    first_done, last_begun = np.full(values, NEVER, dtype=np.int64), np.full(values, BEFORE_ALL, dtype=np.int64)
    first_done[0] = BEFORE_ALL
    np.minimum.at(first_done, columns.value[counts], columns.complete[counts])
    np.maximum.at(last_begun, columns.value[counts], columns.invoke[counts])
    zones = Zones(first_done, last_begun)
    return [_conflict_text(columns, zones, *pair) for pair in conflicts(zones, EXAMPLES)]


def _conflict_text(columns: _Columns, zones: Zones, one: int, other: int) -> tuple[str, tuple[Call, ...]]:
    """Two values each of which was there before the other."""

    def bounds(value: int) -> tuple[Call | None, Call]:
        own = np.flatnonzero(columns.value == value)
        done = own[columns.complete[own] == zones.first_done[value]]
        begun = own[columns.invoke[own] == zones.last_begun[value]]
        return (columns.calls[int(done[0])] if len(done) else None), columns.calls[int(begun[0])]

    (a_done, a_begun), (b_done, b_begun) = bounds(one), bounds(other)
    first = f"{call_text(a_done)} had completed before" if a_done is not None else "the first state was there before"
    second = f"{call_text(b_done)} had completed before" if b_done is not None else "the first state was there before"
    sentence = (
        f"{first} {call_text(b_begun)} began, and {second} {call_text(a_begun)} began: "
        "neither value can have been there after the other"
    )
    return sentence, tuple(call for call in (a_done, b_begun, b_done, a_begun) if call is not None)


def _that_matter(own: list[Call], meanings: list[Meaning]) -> tuple[list[Call], list[Meaning]]:
    """Without the changes of unknown outcome whose value nobody met: an order with one of them is one without it.

    Such a change sets the register to a value that the next one replaces before anybody sees it, and it need not have
    taken effect. Others depend on it only by expecting its value. Where a failed compare-and-set says what the
    register did not hold, any change may be why, so all are kept.
    """
    doubtful = [
        call.outcome is Type.INFO and said[0] in (WRITE, BLIND_CAS) for call, said in zip(own, meanings, strict=True)
    ]
    if not any(doubtful) or any(said[0] == NOT_CAS for said in meanings):
        return own, meanings
    met: set[Hashable] = {
        said[1] for said, doubt in zip(meanings, doubtful, strict=True) if not doubt and said[0] != WRITE
    }
    kept = [not doubt for doubt in doubtful]
    grown = True
    while grown:
        grown = False
        for i, (kind, first, second) in enumerate(meanings):
            value = second if kind == BLIND_CAS else first
            if not kept[i] and value in met:
                kept[i] = grown = True
                if kind == BLIND_CAS:
                    met.add(first)
    chosen = [i for i, keep in enumerate(kept) if keep]
    return [own[i] for i in chosen], [meanings[i] for i in chosen]


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:
    """Whether the operations of one register are linearizable.

    Raises:
        HistoryError: an operation that a register does not have.
    """
    own, meanings = calls.meant(lambda call: meaning(call, rules))
    init = freeze(rules.init)
    own, meanings = _that_matter(own, meanings)
    columns = _columns(own, meanings, init)
    if columns is not None:
        wrong = _by_zones(columns)
        return Answer(found={NAME: Found(count=1, examples=wrong[:EXAMPLES])} if wrong else {})
    told = [
        (call, Step(said, said[0] in CHANGES, call.invoke, end_of(call)))
        for call, said in zip(own, meanings, strict=True)
    ]
    steps = _steps(own, meanings, init) if len(own) > FEW else None
    ordered = None if steps is None else has_order(steps)
    if steps is not None and ordered is not None:
        return Answer() if ordered else end_of_order(told, lambda moment: has_order(steps.until(moment)) is True)
    return linearization_answer(told, lambda steps: RegisterSpec(steps, init), budget)
