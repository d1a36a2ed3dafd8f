"""First-in-first-out queues.

With distinct values and nothing unknown taken, a pair decides (Henzinger, Sezgin and Vafeiadis, Aspect-oriented
linearizability proofs, 2013): a was in before b, and b was out before a. Everything else is searched. The module
refuses to treat a dequeue that found nothing as an answer: Jepsen's clients let it fail.
"""

from typing import Any

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from checkers.models.calls import NEVER, Call, Calls, Ints, frozen
from checkers.models.finding import EXAMPLES, Answer, Found, call_text
from checkers.models.inversions import Passage, inversions
from checkers.models.placing import NAME, placed
from checkers.models.rules import Budget, Rules
from checkers.models.search import Step
from checkers.models.specs import BLIND_DEQUEUE, DEQUEUE, ENQUEUE, FifoSpec

_Side = dict[Any, tuple[Call, Step]]


def _steps(calls: Calls, rules: Rules) -> list[tuple[Call, Step]]:
    out = []
    for call in calls.all:
        if call.f not in ("enqueue", "dequeue"):
            raise HistoryError(f"op {call.number}: a queue has no {call.f}")
        complete = call.complete if call.outcome is Type.OK else NEVER
        if call.outcome is Type.FAIL:
            continue
        what: tuple[int, Any]
        if call.f == "enqueue":
            what = (ENQUEUE, frozen(call.argument))
        elif call.outcome is Type.OK:
            what = (DEQUEUE, frozen(call.output))
        elif rules.blind_takes:
            what = (BLIND_DEQUEUE, None)
        else:
            continue
        out.append((call, Step(what, changes=True, invoke=call.invoke, complete=complete)))
    return out


def _pairs(told: list[tuple[Call, Step]]) -> list[tuple[str, tuple[Call, ...]]] | None:
    """What is wrong where values are distinct; None if they are not, or somebody took something unknown."""
    entered = [step.what[1] for _, step in told if step.what[0] == ENQUEUE]
    if len(set(entered)) < len(entered) or any(step.what[0] == BLIND_DEQUEUE for _, step in told):
        return None
    ins: _Side = {}
    outs: _Side = {}
    for call, step in told:
        kind, value = step.what
        side = ins if kind == ENQUEUE else outs
        if value in side:
            return [(f"{call_text(call)} gave what {call_text(side[value][0])} had given", (call, side[value][0]))]
        side[value] = (call, step)
    for value, (call, step) in outs.items():
        if value not in ins:
            return [(f"{call_text(call)} gave what nobody put in", (call,))]
        if step.complete < ins[value][1].invoke:
            return [(f"{call_text(call)} gave what was put in only afterwards", (call, ins[value][0]))]
    there = [value for value, (_, step) in ins.items() if step.complete != NEVER or value in outs]

    def column(side: _Side, end: str) -> Ints:
        return np.array([getattr(side[value][1], end) if value in side else NEVER for value in there], dtype=np.int64)

    passage = Passage(column(ins, "invoke"), column(ins, "complete"), column(outs, "invoke"), column(outs, "complete"))
    return [_told(ins, outs, there[a], there[b]) for a, b in inversions(passage, EXAMPLES)[1]]


def _told(ins: _Side, outs: _Side, one: Any, other: Any) -> tuple[str, tuple[Call, ...]]:
    """The pair in words: ``one`` went in first, ``other`` came out first."""
    (one_in, _), (other_in, _), (other_out, _) = ins[one], ins[other], outs[other]
    one_out = outs.get(one)
    then = f"before {call_text(one_out[0])} began" if one_out is not None else "and the first never did"
    sentence = (
        f"{call_text(one_in)} was done before {call_text(other_in)} began, and {call_text(other_out)} ended {then}"
    )
    return sentence, (one_in, other_in, other_out, *((one_out[0],) if one_out is not None else ()))


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:
    """Whether the operations of one queue are linearizable.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    told = _steps(calls, rules)
    wrong = _pairs(told)
    if wrong is None:
        return placed(told, lambda steps: FifoSpec(), budget)  # noqa: ARG005 - the queue knows no steps
    return Answer(found={NAME: Found(count=len(wrong), examples=wrong)} if wrong else {})
