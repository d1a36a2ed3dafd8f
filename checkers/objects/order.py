"""``order``: what one key was given in one order comes out in that order, as OpenChaos' check of that name.

Acknowledged enqueues of a key, one after another in real time, must come out one after another. Does not call a missing
message out of order: that is a loss.
"""

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from checkers.objects.calls import Call, Calls, Ints, freeze
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text
from checkers.objects.inversions import Passage, inversions
from checkers.objects.rules import Budget, Rules


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """Whether first deliveries of one key follow its acknowledged enqueues.

    Raises:
        HistoryError: an operation that a queue does not have.
    """
    first: dict[object, Call] = {}
    for call in sorted(calls.all, key=lambda one: one.complete):
        if call.f not in ("enqueue", "dequeue"):
            raise HistoryError(f"op {call.number}: a queue has no {call.f}")
        if call.f == "dequeue" and call.outcome is Type.OK:
            first.setdefault(freeze(call.output), call)
    came = [(call, out) for call in calls.of("enqueue") if (out := first.get(freeze(call.argument))) is not None]
    pairs = [(call, out) for call, out in came if call.outcome is Type.OK]

    def column(side: int, end: str) -> Ints:
        return np.array([getattr(pair[side], end) for pair in pairs], dtype=np.int64)

    passage = Passage(column(0, "invoke"), column(0, "complete"), column(1, "invoke"), column(1, "complete"))
    count, shown = inversions(passage, EXAMPLES)
    told: list[tuple[str, tuple[Call, ...]]] = []
    for a, b in shown:
        (early, early_out), (late, late_out) = pairs[a], pairs[b]
        sentence = f"{call_text(late)} came out before {call_text(early)}, which had been acknowledged before it began"
        told.append((sentence, (late_out, early_out, late, early)))
    return Answer(found={"order": Found(count=count, examples=told)} if count else {})
