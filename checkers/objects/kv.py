"""One key of a string store: put, get and append, as in Porcupine's histories.

Each key is an object of its own.
"""

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls
from checkers.objects.finding import Answer, show
from checkers.objects.linearization_answer import linearization_answer
from checkers.objects.linearization_search import Step
from checkers.objects.rules import Budget, Rules
from checkers.objects.specs import APPEND, GET, PUT, StringSpec

_KINDS = {"put": PUT, "append": APPEND, "get": GET}


def _step(call: Call, rules: Rules) -> Step | None:
    kind = _KINDS.get(call.f)
    if kind is None:
        raise HistoryError(f"op {call.number}: a string store has no {call.f}")
    if kind == GET:
        if call.outcome is not Type.OK or (call.output is None and rules.nil_means == "any"):
            return None
        text = call.output if call.output is not None else ""
    else:
        text = call.argument
    if not isinstance(text, str):
        raise HistoryError(f"op {call.number}: a string store holds strings, not {show(text)}")
    if call.outcome is Type.FAIL:
        return None
    complete = call.complete if call.outcome is Type.OK else NEVER
    changes = kind == PUT or (kind == APPEND and text != "")
    return Step((kind, text), changes=changes, invoke=call.invoke, complete=complete)


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:
    """Whether the operations of one key are linearizable.

    Raises:
        HistoryError: an operation that a string store does not have.
    """
    told = [(call, step) for call in calls.all if (step := _step(call, rules)) is not None]
    return linearization_answer(told, StringSpec, budget)
