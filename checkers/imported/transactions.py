"""Histories of transactions: read, judged, and told.

The module does not decide what is an error; ``checkers.txn`` does.
"""

from typing import Any, Final

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.core.storage_path import Place
from chaos.core.verdict import Anomaly, Edge, Example, Results
from chaos.formats import registry as formats
from checkers.imported.figures import figures
from checkers.imported.options import Question
from checkers.imported.plain import plain
from checkers.imported.results import results
from checkers.imported.transactions_of import Imported, of_history, of_paired
from checkers.txn.explain import Instance
from checkers.txn.judge import Anomalous, Judgement, Options
from checkers.txn.judge import judge as judge_transactions
from checkers.txn.models import STRONGEST, Boundary, model_named
from checkers.txn.names import LIST_APPEND, RW_REGISTER, UNDONE, Model
from checkers.txn.transactions import NEVER, Kind, observed

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
    model: Model = LIST_APPEND if question.model == LIST_APPEND else RW_REGISTER
    history = _read(path, question.format, lists=model == LIST_APPEND)
    transactions = history.transactions
    verdict = judge_transactions(transactions, model, options)
    shown = _Shown(history, lists=model == LIST_APPEND)
    anomalies = {name: shown.anomaly(one, allowed=False) for name, one in verdict.anomalies.items()}
    anomalies |= {name: shown.anomaly(one, allowed=True) for name, one in verdict.beside.items()}
    told = results(
        model=question.model,
        engine=engine,
        valid=verdict.valid,
        anomalies=anomalies,
        reason=verdict.reason,
        cut_off=history.cut_off,
        undone=frozenset() if history.cut_off is None else _undone(verdict, history, model, options),
        examined=f"{len(transactions)} transactions, held to {' and '.join(options.models)}",
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


class _Shown:
    """Anomalies with the transactions that show them."""

    def __init__(self, history: Imported, *, lists: bool) -> None:
        self.history, self.t, self.lists = history, history.transactions, lists

    def anomaly(self, one: Anomalous, *, allowed: bool) -> Anomaly:
        """All that is told of an anomaly."""
        return Anomaly(count=one.count, allowed=allowed, examples=tuple(map(self._example, one.told)))

    def _example(self, instance: Instance) -> Example:
        number = self.t.number
        return Example(
            sentence=instance.sentence,
            ops=tuple(map(self._row, (*instance.transactions, *instance.witnesses)[:SHOWN])),
            circle=tuple(
                Edge(before=int(number[a]), after=int(number[b]), kind=kind, reason=reason)
                for a, b, kind, reason in map(msgspec.structs.astuple, instance.steps)
            ),
        )

    def _row(self, at: int) -> dict[str, Any]:
        """A transaction as a line of jsonl; what orders it stands beside it, None where it has no end."""
        t, complete = self.t, int(self.t.complete[at])
        return {
            "op": int(t.number[at]),
            "process": int(t.process[at]),
            "f": self.history.words[at],
            "type": Type(int(t.type[at])).word,
            "value": [self._micro(micro) for micro in range(int(t.first[at]), int(t.first[at + 1]))],
            "invoke": int(t.invoke[at]),
            "complete": None if complete == NEVER else complete,
        }

    def _micro(self, micro: int) -> list[Any]:
        t, kind = self.t, Kind(int(self.t.kind[micro]))
        value = t.shown(int(t.value[micro]))
        if self.lists and kind is Kind.READ and t.known[micro]:
            value = [t.shown(one) for one in t.read_of(micro)]
        return [kind.word, plain(t.keys[int(t.key[micro])]), plain(value)]


def _undone(verdict: Judgement, history: Imported, model: Model, options: Options) -> frozenset[str]:
    """The anomalies that more of the history may undo.

    A transaction that is open at the end may yet fail, unless somebody read what it wrote. So the history is judged
    again without the open ones that were not read. What is found then stands: more transactions add to what is known
    of an order and take nothing from it.
    """
    found = {*verdict.anomalies, *verdict.beside}
    stands = history.answered | observed(history.transactions)
    certain = judge_transactions(history.transactions.only(stands), model, options)
    return frozenset((found - {*certain.anomalies, *certain.beside}) | (found & UNDONE))
