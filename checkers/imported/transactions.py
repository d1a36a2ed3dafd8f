"""Histories of transactions: read, judged, and told.

The module does not decide what is an error; ``checkers.txn`` does.
"""

from typing import Any, Final

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.core.verdict import Results
from chaos.formats import registry as formats
from chaos.storage.storage_path import Place
from checkers.imported.figures import figures
from checkers.imported.json_values import to_json
from checkers.imported.options import Question
from checkers.imported.results import results_of_file
from checkers.imported.transactions_of import Imported, of_history, of_paired
from checkers.txn.examples import Examples
from checkers.txn.judge import Judgement, Options
from checkers.txn.judge import judge as judge_transactions
from checkers.txn.models import STRONGEST, Boundary, model_named
from checkers.txn.names import LIST_APPEND, RW_REGISTER, UNDONE, Model
from checkers.txn.transactions import NEVER, was_observed

_FRIENDLY: Final = {STRONGEST: "strong-serializable"}
"""What the reference calls a model in its answers; both are names of it."""


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
    model: Model = LIST_APPEND if question.model == LIST_APPEND else RW_REGISTER
    history = _read(path, question.format, lists=model == LIST_APPEND)
    transactions = history.transactions
    verdict = judge_transactions(transactions, model, options)
    shown = _examples(history, lists=model == LIST_APPEND)
    anomalies = {name: shown.anomaly(one, allowed=False) for name, one in verdict.anomalies.items()}
    anomalies |= {name: shown.anomaly(one, allowed=True) for name, one in verdict.beside.items()}
    told = results_of_file(
        model=question.model,
        engine=engine,
        valid=verdict.valid,
        anomalies=anomalies,
        reason=verdict.reason,
        cut_off=history.cut_off,
        undone=frozenset() if history.cut_off is None else _undone(verdict, history, model, options),
        examined=f"{len(transactions)} transactions, held to {join_names(options.models)}",
        figures=figures(history.load, history.others, None, untold=f"{question.model} tells of no lost messages"),
    )
    return msgspec.structs.replace(told, ruled_out=_ruled_out(verdict.ruled_out))


def _read(path: Place, format_name: str, *, lists: bool) -> Imported:
    """A history, at the speed of arrays where its format has records.

    Raises:
        HistoryError: naming file and fault.
    """
    if format_name == "jepsen":
        records = formats.read_transactions(path, lists=lists)
        try:
            return of_history(records)
        except HistoryError as error:
            raise HistoryError(f"{path}: {error}") from error
    operations = formats.read(path, format_name)
    try:
        return of_paired(operations, lists=lists)
    except HistoryError as error:
        raise HistoryError(f"{path}: {error}") from error


def _ruled_out(boundary: Boundary) -> dict[str, tuple[str, ...]]:
    """The models that cannot hold, under the reference's names for them and for the two lists."""
    named = [tuple(sorted(_FRIENDLY.get(model, model) for model in models)) for models in boundary]
    return dict(zip(("not", "also-not"), named, strict=True)) if boundary.weakest else {}


def _examples(history: Imported, *, lists: bool) -> Examples:
    """Anomalies with the transactions that show them, each as a line of jsonl; what orders it stands beside it."""
    t = history.transactions

    def row(at: int) -> dict[str, Any]:
        complete = int(t.complete[at])
        return {
            "op": int(t.number[at]),
            "process": int(t.process[at]),
            "f": history.words[at],
            "type": Type(int(t.type[at])).word,
            "value": examples.micros(at),
            "invoke": int(t.invoke[at]),
            "complete": None if complete == NEVER else complete,
        }

    examples = Examples(t, lists=lists, row=row, plain=to_json)
    return examples


def _undone(verdict: Judgement, history: Imported, model: Model, options: Options) -> frozenset[str]:
    """The anomalies that more of the history may undo.

    A transaction that is open at the end may yet fail, unless somebody read what it wrote. So the history is judged
    again without the open ones that were not read. What is found then stands: more transactions add to what is known
    of an order and take nothing from it.
    """
    found = {*verdict.anomalies, *verdict.beside}
    stands = history.answered | was_observed(history.transactions)
    certain = judge_transactions(history.transactions.only(stands), model, options)
    return frozenset((found - {*certain.anomalies, *certain.beside}) | (found & UNDONE))
