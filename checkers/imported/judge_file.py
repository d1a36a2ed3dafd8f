"""One imported file against one question: read, judge, and tell.

Pure but for reading the file; the same function runs here and in executors. The module refuses to print.
"""

from chaos.core.memory import keep_freed
from chaos.core.storage_path import Place
from chaos.core.verdict import Results
from checkers.imported import kafka, logs, objects
from checkers.imported.options import KAFKA, LOG, Question


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
    by = kafka.judge if question.model == KAFKA else logs.judge if question.model == LOG else objects.judge
    return by(path, question, engine)
