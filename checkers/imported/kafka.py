"""Kafka-style histories: read, judged, and told.

The module refuses to decide what is an error; ``checkers.kafka`` does.
"""

import msgspec

from chaos.core.formats import registry as formats
from chaos.core.formats.kafka import KafkaHistory
from chaos.core.place import Place
from chaos.core.verdict import Anomaly, Example, Results
from checkers.imported.question import Question
from checkers.imported.telling import plain, results
from checkers.kafka.check import KafkaVerdict, check
from checkers.kafka.told import EXAMPLES, told


def _plain(anomaly: Anomaly) -> Anomaly:
    """The anomaly with keys and values that JSON can hold."""

    def shown(example: Example) -> Example:
        return msgspec.structs.replace(example, ops=tuple(plain(row) for row in example.ops))

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


def told_of(verdict: KafkaVerdict, history: KafkaHistory, question: Question, engine: str) -> Results:
    """A verdict in the shape of ``results.json``. ``history``: without its messages, if there is nothing to show."""
    anomalies = told(verdict, history.columns, sub_via=question.sub_via, ww_deps=question.ww_deps)
    examined = f"{verdict.examined.get('records', 0)} records, {verdict.examined.get('messages', 0)} messages"
    return results(
        model=question.model, engine=engine, valid=verdict.valid, reason=verdict.reason, cut_off=history.cut_off,
        anomalies={name: _plain(one) for name, one in anomalies.items()}, examined=examined, counts=verdict.examined,
    )  # fmt: skip
