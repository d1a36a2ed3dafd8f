"""Histories of transactions: read, judged, and told.

The module does not decide what is an error; ``checkers.txn`` does.
"""

from typing import Any, Final

import msgspec
import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.storage_path import Place
from chaos.core.verdict import Anomaly, Edge, Example, Results
from chaos.formats import registry as formats
from chaos.formats.operations import NEVER, Operation, Operations
from checkers.imported.figures import figures
from checkers.imported.load import of_operations
from checkers.imported.options import Question
from checkers.imported.plain import plain
from checkers.imported.results import results
from checkers.imported.transactions_of import said, transactions_of
from checkers.txn.explain import Instance
from checkers.txn.judge import Anomalous, Judgement, Options
from checkers.txn.judge import judge as judge_transactions
from checkers.txn.models import STRONGEST, Boundary, model_named
from checkers.txn.names import LIST_APPEND, RW_REGISTER, UNDONE, Model
from checkers.txn.transactions import Transactions, observed

_FRIENDLY: Final = {STRONGEST: "strong-serializable"}
"""What the reference calls a model in its answers; both are names of it."""
SHOWN: Final = 64
"""Operations that one example shows at most."""


def options_of(question: Question) -> Options:
    """What transactions are held against.

    Raises:
        UsageError: a consistency model that there is not.
    """
    return Options(
        models=tuple(map(model_named, question.consistency_models)) or (STRONGEST,),
        wfr_keys=question.wfr_keys,
        sequential_keys=question.sequential_keys,
        linearizable_keys=question.linearizable_keys,
        strict=question.strict,
    )


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a history of transactions.

    Raises:
        HistoryError: naming file and fault.
        UsageError: a consistency model that there is not.
    """
    options = options_of(question)
    operations = formats.read(path, question.format)
    model: Model = LIST_APPEND if question.model == LIST_APPEND else RW_REGISTER
    try:
        transactions = transactions_of(operations.items, lists=model == LIST_APPEND)
    except HistoryError as error:
        raise HistoryError(f"{path}: {error}") from error
    verdict = judge_transactions(transactions, model, options)
    cut_off = operations.cut_off is not None
    anomalies = {name: _anomaly(one, operations.items, allowed=False) for name, one in verdict.anomalies.items()}
    anomalies |= {name: _anomaly(one, operations.items, allowed=True) for name, one in verdict.beside.items()}
    told = results(
        model=question.model,
        engine=engine,
        valid=verdict.valid,
        anomalies=anomalies,
        reason=verdict.reason,
        cut_off=operations.cut_off,
        undone=_undone(verdict, transactions, operations, model, options) if cut_off else frozenset(),
        examined=f"{len(transactions)} transactions, held to {' and '.join(options.models)}",
        figures=figures(
            of_operations(operations.items, question.model),
            operations.others,
            None,
            untold=f"{question.model} tells of no lost messages",
        ),
    )
    return msgspec.structs.replace(told, ruled_out=_ruled_out(verdict.ruled_out))


def _ruled_out(boundary: Boundary) -> dict[str, tuple[str, ...]]:
    """The models that cannot hold, under the reference's names for them and for the two lists."""
    named = [tuple(sorted(_FRIENDLY.get(model, model) for model in models)) for models in boundary]
    return dict(zip(("not", "also-not"), named, strict=True)) if boundary.weakest else {}


def _anomaly(one: Anomalous, operations: list[Operation], *, allowed: bool) -> Anomaly:
    return Anomaly(
        count=one.count, allowed=allowed, examples=tuple(_example(instance, operations) for instance in one.told)
    )


def _example(instance: Instance, operations: list[Operation]) -> Example:
    number = {at: operations[at].number for at in instance.transactions}
    return Example(
        sentence=instance.sentence,
        ops=tuple(_row(operations[at]) for at in (*instance.transactions, *instance.witnesses)[:SHOWN]),
        circle=tuple(
            Edge(before=number[step.before], after=number[step.after], kind=step.kind, reason=step.reason)
            for step in instance.steps
        ),
    )


def _row(operation: Operation) -> dict[str, Any]:
    """A transaction as a line of jsonl; what orders it stands beside it, None where it has no end."""
    return {
        "op": operation.number,
        "process": plain(operation.process),
        "f": operation.f,
        "type": operation.type.word,
        "value": _micros(said(operation)),
        "invoke": operation.invoke,
        "complete": None if operation.complete == NEVER else operation.complete,
    }


def _micros(value: Any) -> Any:
    """Micro-operations as JSON has them, their words without colons."""
    return [[str(word).removeprefix(":"), *plain(rest)] for word, *rest in value]


def _undone(
    verdict: Judgement, transactions: Transactions, operations: Operations, model: Model, options: Options
) -> frozenset[str]:
    """The anomalies that more of the history may undo.

    A transaction that is open at the end may yet fail, unless somebody read what it wrote. So the history is judged
    again without the open ones that were not read. What is found then stands: more transactions add to what is known
    of an order and take nothing from it.
    """
    found = {*verdict.anomalies, *verdict.beside}
    answered = np.array([one.answered for one in operations.items], dtype=np.bool_)
    certain = judge_transactions(transactions.only(answered | observed(transactions)), model, options)
    return frozenset((found - {*certain.anomalies, *certain.beside}) | (found & UNDONE))
