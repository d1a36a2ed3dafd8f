"""One imported file against one question: read, judge, and tell.

Pure but for reading the file; the same function runs here and in executors. Does not print.
"""

from chaos.basics.memory import keep_freed
from chaos.core.verdict import Results
from chaos.formats.etcd_robustness import NAME as ETCD_ROBUSTNESS
from chaos.storage.storage_path import Place
from checkers.imported import etcd, kafka, logs, objects, transactions
from checkers.imported.options import KAFKA, LOG, TRANSACTIONAL, Question


def judge(path: Place, question: Question, engine: str) -> Results:
    """The verdict on a file.

    Args:
        path: the history.
        question: how to read it and what to hold it against.
        engine: who runs this, for the record.

    Raises:
        HistoryError: naming file, line and fault.
        UsageError: a question that the file's format cannot answer.
    """
    keep_freed()
    if question.format == ETCD_ROBUSTNESS:
        return etcd.judge(path, question, engine)
    special = {KAFKA: kafka.judge, LOG: logs.judge, **dict.fromkeys(TRANSACTIONAL, transactions.judge)}
    return special.get(question.model, objects.judge)(path, question, engine)
