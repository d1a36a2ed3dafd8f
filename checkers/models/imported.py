"""Histories of other tools as the models want them: objects by key.

The module refuses to choose a model or rules; ``rules`` gives those that the notation's own tool has.
"""

from chaos.core.formats.operations import Operation, Operations
from checkers.models.calls import Call, Calls, frozen
from checkers.models.rules import Rules

NO_TIME = -1


def objects(history: Operations) -> list[tuple[object, Calls]]:
    """Each key with its operations, in order of first appearance; one without key in a history of one object."""
    found: dict[object, tuple[object, list[Call]]] = {}
    for operation in history.items:
        found.setdefault(frozen(operation.key), (operation.key, []))[1].append(_call(operation))
    return [(key, Calls(calls)) for key, calls in found.values()]


def _call(operation: Operation) -> Call:
    return Call(
        number=operation.number,
        process=operation.process,
        f=operation.f,
        argument=operation.argument,
        output=operation.output,
        outcome=operation.type,
        invoke=operation.invoke,
        complete=operation.complete,
        began_ns=NO_TIME if operation.invoke_ns is None else operation.invoke_ns,
        ended_ns=NO_TIME if operation.complete_ns is None else operation.complete_ns,
    )


def rules(history: Operations) -> Rules:
    """How the tool that has this notation understands results."""
    return Rules(nil_means=history.nil_means, fail_observes=history.failed_cas_observes)
