"""First-in-first-out queues.

With distinct values and nothing unknown taken, a pair decides (Henzinger, Sezgin and Vafeiadis, Aspect-oriented
linearizability proofs, 2013): a was in before b, and b was out before a. Everything else is searched. A dequeue that
found nothing is no answer: Jepsen's clients let it fail.
"""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls, end_of, ends, freeze
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text
from checkers.objects.inversions import Passage, inversions
from checkers.objects.linearization_answer import NAME, linearization_answer
from checkers.objects.linearization_search import Step
from checkers.objects.rules import Budget, Rules
from checkers.objects.specs import BLIND_DEQUEUE, DEQUEUE, ENQUEUE, FifoSpec

Meaning = tuple[int, Hashable]


def meaning(call: Call, rules: Rules) -> Meaning | None:
    """Kind and value; None if the operation says nothing."""
    if call.outcome is Type.FAIL:
        if call.f not in ("enqueue", "dequeue"):
            raise HistoryError(f"op {call.number}: a queue has no {call.f}")
        return None
    if call.f == "enqueue":
        return ENQUEUE, freeze(call.argument)
    if call.f != "dequeue":
        raise HistoryError(f"op {call.number}: a queue has no {call.f}")
    if call.outcome is Type.OK:
        return DEQUEUE, freeze(call.output)
    return (BLIND_DEQUEUE, None) if rules.blind_takes else None


class _Sides(NamedTuple):
    """Each value's enqueue and its dequeue: positions among the calls."""

    calls: list[Call]
    ins: dict[Hashable, int]
    outs: dict[Hashable, int]


def _sides(calls: list[Call], meanings: list[Meaning]) -> _Sides | tuple[Call, Call] | None:
    """Who put what in and took it out; or two that gave the same; None if values are not distinct or not known."""
    ins: dict[Hashable, int] = {}
    outs: dict[Hashable, int] = {}
    twice: tuple[Call, Call] | None = None
    for i, (kind, value) in enumerate(meanings):
        if kind == ENQUEUE:
            if ins.setdefault(value, i) != i:
                return None
        elif kind == BLIND_DEQUEUE:
            return None
        else:
            first = outs.setdefault(value, i)
            if first != i and twice is None:
                twice = calls[i], calls[first]
    return twice if twice is not None else _Sides(calls, ins, outs)


def _wrong(sides: _Sides) -> list[tuple[str, tuple[Call, ...]]]:
    """What is wrong where each value goes in and comes out once at most."""
    calls, ins, outs = sides
    invoke, complete = ends(calls)
    for value, out in outs.items():
        own = ins.get(value)
        if own is None:
            return [(f"{call_text(calls[out])} gave what nobody put in", (calls[out],))]
        if complete[out] < invoke[own]:
            sentence = f"{call_text(calls[out])} gave what was put in only afterwards"
            return [(sentence, (calls[out], calls[own]))]
    there = [value for value, own in ins.items() if calls[own].outcome is Type.OK or value in outs]
    entered = np.fromiter((ins[value] for value in there), dtype=np.int64, count=len(there))
    left = np.fromiter((outs.get(value, -1) for value in there), dtype=np.int64, count=len(there))
    gone = left >= 0
    passage = Passage(
        invoke[entered], complete[entered], np.where(gone, invoke[left], NEVER), np.where(gone, complete[left], NEVER)
    )
    return [_told(sides, there[a], there[b]) for a, b in inversions(passage, EXAMPLES)[1]]


def _told(sides: _Sides, one: Hashable, other: Hashable) -> tuple[str, tuple[Call, ...]]:
    """The pair in words: ``one`` went in first, ``other`` came out first."""
    calls, ins, outs = sides
    one_in, other_in, other_out = calls[ins[one]], calls[ins[other]], calls[outs[other]]
    one_out = calls[outs[one]] if one in outs else None
    then = f"before {call_text(one_out)} began" if one_out is not None else "and the first never did"
    sentence = (
        f"{call_text(one_in)} was done before {call_text(other_in)} began, and {call_text(other_out)} ended {then}"
    )
    return sentence, (one_in, other_in, other_out, *((one_out,) if one_out is not None else ()))


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:
    """Whether the operations of one queue are linearizable.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    own, meanings = calls.meant(lambda call: meaning(call, rules))
    sides = _sides(own, meanings)
    if sides is None:
        steps = [Step(said, True, call.invoke, end_of(call)) for call, said in zip(own, meanings, strict=True)]
        return linearization_answer(list(zip(own, steps, strict=True)), lambda _: FifoSpec(), budget)
    if isinstance(sides, _Sides):
        wrong = _wrong(sides)
    else:
        again, first = sides
        wrong = [(f"{call_text(again)} gave what {call_text(first)} had given", (again, first))]
    return Answer(found={NAME: Found(count=len(wrong), examples=wrong)} if wrong else {})
