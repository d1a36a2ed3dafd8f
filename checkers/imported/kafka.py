"""Kafka-style histories: read, judged, and told.

Does not decide what is an error; ``checkers.kafka`` does.
"""

from typing import Final

import msgspec
import numpy as np

from chaos.core.verdict import Anomaly, Example, Results
from chaos.formats import registry as formats
from chaos.formats.kafka import KafkaHistory
from chaos.formats.missing import Missing, retractable
from chaos.storage.storage_path import Place
from checkers.imported.figures import Losses, figures
from checkers.imported.json_values import to_json
from checkers.imported.load import of_kafka
from checkers.imported.options import Question
from checkers.imported.results import results_of_file
from checkers.kafka.check import KafkaVerdict, check
from checkers.kafka.losses import losses
from checkers.kafka.names import STANDS
from checkers.kafka.report import EXAMPLES, anomalies_of
from checkers.kafka.rows import Records

_NOBODY: Final = np.empty(0, dtype=np.int64)


def _plain(anomaly: Anomaly) -> Anomaly:
    """The anomaly with keys and values that JSON can hold."""

    def shown(example: Example) -> Example:
        return msgspec.structs.replace(example, ops=tuple(to_json(row) for row in example.ops))

    return msgspec.structs.replace(anomaly, examples=tuple(shown(example) for example in anomaly.examples))


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a Kafka-style history.

    Raises:
        HistoryError: naming file, line and fault.
    """
    return answer(formats.read_kafka(path, question.format), question, engine)


def answer(history: KafkaHistory, question: Question, engine: str) -> Results:
    """The verdict on a Kafka-style history that was read."""
    verdict = check(
        history.columns, sub_via=question.sub_via, ww_deps=question.ww_deps, strict=question.strict, keep=EXAMPLES
    )
    return told_of(verdict, history, question, engine)


def may_be_undone(verdict: KafkaVerdict, missing: Missing) -> frozenset[str]:
    """The anomalies that more of the history may undo; each occurrence of some rests on a send that may yet fail."""
    unsure = {name for name, one in verdict.anomalies.items() if one.count == one.unsure}
    return retractable(verdict.anomalies, STANDS, missing) | unsure


def told_of(verdict: KafkaVerdict, history: KafkaHistory, question: Question, engine: str) -> Results:
    """A verdict in the shape of ``results.json``."""
    anomalies = anomalies_of(verdict, history.columns, sub_via=question.sub_via, ww_deps=question.ww_deps)
    records = Records(history.columns)
    acked, proof = losses(records) if "lost-write" in anomalies else (_NOBODY, _NOBODY)
    time_ns = records.time_ns
    told_beside = figures(of_kafka(records), history.others, Losses(time_ns[acked], time_ns[proof]))
    examined = f"{verdict.examined.get('records', 0)} records, {verdict.examined.get('messages', 0)} messages"
    return results_of_file(
        model=question.model,
        engine=engine,
        valid=verdict.valid,
        reason=verdict.reason,
        cut_off=history.cut_off,
        anomalies={name: _plain(one) for name, one in anomalies.items()},
        examined=examined,
        counts=verdict.examined,
        figures=told_beside,
        undone=may_be_undone(verdict, history.missing),
    )
