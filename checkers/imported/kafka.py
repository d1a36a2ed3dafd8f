"""Kafka-style histories: the checker's verdict with its cases in sentences, each with the least that shows it.

The module refuses to decide what is an error; ``checkers.kafka.names`` does.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np

from chaos.core.formats import registry as formats
from chaos.core.formats.kafka_columns import NONE, KafkaColumns, KafkaF, Mop
from chaos.core.op import Type
from chaos.core.verdict import Anomaly, Example, Results
from checkers.imported.question import Question
from checkers.imported.telling import plain, results
from checkers.kafka import explain
from checkers.kafka.check import check
from checkers.kafka.found import Case
from checkers.kafka.minimise import minimised

SHOWN: Final = 8
"""Cases of one anomaly that are told."""

MINIMISED_UP_TO: Final = 200_000
"""In a larger history a case is shown by its records alone: looking for less would take longer than the verdict."""

_OTHERS: Final = {
    Mop.EMPTY: "polled nothing of", Mop.NOTHING: "polled nothing", Mop.KEY: "takes", Mop.REBALANCED: "rebalanced",
}  # fmt: skip


def _message(columns: KafkaColumns, i: int) -> str:
    """A row of ``mops`` in words."""
    mops = columns.mops
    kind = Mop(int(mops.kind[i]))
    log = "" if mops.key[i] < 0 else f" log {plain(columns.keys[mops.key[i]])}"
    if kind is Mop.SEND or kind is Mop.POLLED:
        at = "" if mops.offset[i] == NONE else f" at {mops.offset[i]}"
        return f"{'sent' if kind is Mop.SEND else 'polled'} {plain(columns.value_of(int(mops.value[i])))}{at} of{log}"
    return f"{_OTHERS[kind]}{log}"


def _rows(columns: KafkaColumns) -> tuple[dict[str, Any], ...]:
    """The records of a small history in words."""
    ops, mops = columns.ops, columns.mops
    out = []
    for row in range(len(ops.index)):
        first, last = np.searchsorted(mops.op, [row, row + 1]).tolist()
        out.append({
            "op": int(ops.index[row]), "process": int(ops.process[row]), "f": KafkaF(int(ops.f[row])).word,
            "type": Type(int(ops.type[row])).word, "messages": [_message(columns, i) for i in range(first, last)],
        })  # fmt: skip
    return tuple(out)


def _example(columns: KafkaColumns, name: str, case: Case, question: Question, *, least: bool) -> Example:
    """A case in a sentence; with ``least`` the smallest history that shows it, else the numbers of its records."""
    small = (
        minimised(columns, name, case, sub_via=question.sub_via, ww_deps=question.ww_deps)
        if least and len(columns.ops.index) <= MINIMISED_UP_TO
        else None
    )
    ops = _rows(small) if small is not None else tuple({"op": op} for op in case.ops)
    return Example(sentence=explain.sentence(name, case), ops=ops)


def judge(path: Path, question: Question, engine: str) -> Results:
    """The verdict on a Kafka-style history.

    Raises:
        HistoryError: naming file, line and fault.
    """
    history = formats.read_kafka(path, question.format)
    columns = history.columns
    verdict = check(
        columns, sub_via=question.sub_via, ww_deps=question.ww_deps, strict=question.strict, keep=SHOWN
    )  # fmt: skip
    anomalies = {}
    for name, one in verdict.anomalies.items():
        told = [
            _example(columns, name, case, question, least=i == 0 and not one.allowed)
            for i, case in enumerate(one.cases)
        ] or [Example(sentence=explain.sentence(name))]
        anomalies[name] = Anomaly(count=one.count, allowed=one.allowed, examples=tuple(told))
    examined = f"{verdict.examined.get('records', 0)} records, {verdict.examined.get('messages', 0)} messages"
    return results(
        model=question.model, engine=engine, valid=verdict.valid, anomalies=anomalies, reason=verdict.reason,
        cut_off=history.cut_off, examined=examined, counts=verdict.examined,
    )  # fmt: skip
