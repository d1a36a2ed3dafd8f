"""Registers, sets, queues and the like: each key is an object, and each object has its answer.

Does not search by itself; ``checkers.objects`` does.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.core.verdict import Anomaly, Example, Results
from chaos.formats import registry as formats
from chaos.formats.missing import Missing, retractable
from chaos.formats.operations import LONG_AGO, NEVER, Operation, Operations
from chaos.storage.storage_path import Place
from checkers.imported.figures import Losses, figures
from checkers.imported.json_values import to_json
from checkers.imported.load import of_operations
from checkers.imported.options import Question
from checkers.imported.results import results_of_file
from checkers.objects import bags, minimise, registry
from checkers.objects.calls import Call, Calls, freeze
from checkers.objects.finding import Answer
from checkers.objects.linearization_answer import NAME
from checkers.objects.rules import Budget, Rules

_OPENCHAOS_MAP = {"put": "add", "getAll": "read"}


def _call(operation: Operation) -> Call:
    """An operation as models see it. A write whose invocation said nothing has its value from its completion."""
    argument = operation.argument
    if argument is None and operation.type is Type.OK and operation.f not in ("read", "get", "dequeue", "generate"):
        argument = operation.output
    missing = -1
    return Call(
        operation.number,
        operation.process,
        operation.f,
        argument,
        operation.output if operation.type is Type.OK else None,
        operation.type,
        operation.invoke,
        operation.complete,
        missing if operation.invoke_ns is None else operation.invoke_ns,
        missing if operation.complete_ns is None else operation.complete_ns,
    )


_UNNAMED = frozenset({"read", "get", "dequeue", "drain", "generate", "acquire", "release"})
"""Kinds whose invocations name no value."""


def _undone(found: Iterable[str], model: str, operations: Operations) -> frozenset[str]:
    """The anomalies that more of the history may undo: any, if it may yet say what an open operation wrote."""
    secret = any(not one.answered and one.argument is None and one.f not in _UNNAMED for one in operations.items)
    missing = Missing.ANY if secret else operations.missing
    return retractable(found, registry.MODELS[model].stands, missing)


def _objects(operations: Operations, question: Question) -> Iterable[tuple[Any, Calls]]:
    """Keys with their operations, in order of their first; one object without a key where keys mean nothing."""
    if registry.MODELS[question.model].together and not question.independent:
        return [(None, Calls(map(_call, operations.items)))] if operations.items else []
    objects: dict[Any, tuple[Any, list[Call]]] = {}
    for operation in operations.items:
        of = freeze(operation.key)
        if of not in objects:
            objects[of] = operation.key, []
        objects[of][1].append(_call(operation))
    return [(key, Calls(own)) for key, own in objects.values()]


def _rules(operations: Operations, question: Question) -> Rules:
    return Rules(
        nil_means=question.nil_means or operations.nil_means,
        init=question.init,
        fail_observes=operations.failed_cas_observes,
        blind_takes=question.format != "jepsen" or operations.cut_off is not None,  # what is open may yet be answered
        strict=question.strict,
        linearizable=question.linearizable,
    )


def _row(call: Call) -> dict[str, Any]:
    """An operation in words; what orders it stands beside it, None where it has no beginning or no end."""
    return {
        "op": call.number,
        "process": to_json(call.process),
        "f": call.f,
        "type": call.outcome.word,
        "argument": to_json(call.argument),
        "output": to_json(call.output),
        "invoke": None if call.invoke == LONG_AGO else call.invoke,
        "complete": None if call.complete == NEVER else call.complete,
    }


def _adapted(operations: Operations, question: Question) -> str:
    """The model that judges; OpenChaos' map is a set of the values that were put."""
    if question.format == "openchaos" and question.model == "kv":
        for operation in operations.items:
            operation.f = _OPENCHAOS_MAP.get(operation.f, operation.f)
        return "set"
    return question.model


def _answers(
    model: str, objects: Iterable[tuple[Any, Calls]], rules: Rules, budget: Budget
) -> Iterator[tuple[Any, Answer]]:
    """What the model says of each object; the first that has no order is explained."""
    check = registry.MODELS[model].check
    explained = False
    for key, calls in objects:
        answer = check(calls, rules, budget)
        if NAME in answer.found and not explained:
            answer, explained = minimise.explain(model, check, calls, rules, answer, budget), True
        yield key, answer


def _losses(model: str, objects: Iterable[tuple[Any, Calls]]) -> Losses | None:
    """What a total queue never gave back. Only the end of the last look into it proves that."""
    if model != "total-queue":
        return None
    acked: list[int] = []
    proof: list[int] = []
    for _, calls in objects:
        lost = bags.unreturned_values(calls)
        if lost is None:
            return None
        ends = [call.ended_ns for call in calls.of("dequeue", "drain") if call.outcome is Type.OK]
        acked += [call.ended_ns for call in lost]
        proof += [max(ends or [call.ended_ns for call in calls.all])] * len(lost)
    return Losses(np.array(acked, dtype=np.int64), np.array(proof, dtype=np.int64))


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a history of objects.

    Raises:
        HistoryError: naming file and fault.
    """
    operations = formats.read(path, question.format, independent=question.independent)
    model, rules = _adapted(operations, question), _rules(operations, question)
    budget = Budget(question.budget_s)
    try:
        objects = list(_objects(operations, question))
        answer = registry.merge_answers(_answers(model, objects, rules, budget))
    except HistoryError as error:
        raise HistoryError(f"{path}: {error}") from error
    anomalies = {
        name: Anomaly(
            count=one.count,
            allowed=one.allowed,
            examples=tuple(
                Example(
                    sentence=sentence,
                    ops=tuple(_row(call) for call in calls),
                    order=() if position else one.order,
                )
                for position, (sentence, calls) in enumerate(one.examples)
            ),
        )
        for name, one in answer.found.items()
    }
    several = f" of {len(objects)} objects" if len(objects) != 1 else ""
    return results_of_file(
        model=question.model,
        engine=engine,
        valid=answer.valid,
        anomalies=anomalies,
        reason=answer.reason,
        cut_off=operations.cut_off,
        undone=_undone(anomalies, model, operations),
        examined=f"{len(operations.items)} operations{several}",
        figures=figures(
            of_operations(operations.items, model),
            operations.others,
            _losses(model, objects),
            untold="a drain did not end" if model == "total-queue" else f"{question.model} tells of no lost messages",
        ),
    )
