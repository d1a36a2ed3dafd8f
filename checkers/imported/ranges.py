"""One imported file read by many tasks: what each of them does.

A range of the file becomes a part in a folder that all tasks reach; the parts are judged as the file would be. Does not
cut records that are no lines: the whole file is then one task's again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from chaos.core.errors import HistoryError
from chaos.core.verdict import Results
from chaos.formats import kafka as kafka_format
from chaos.formats import kafka_parts, text
from chaos.storage.storage_path import Place
from checkers.imported import kafka
from checkers.imported.kafka_tasks import ReadPart, keep
from checkers.imported.options import KAFKA, Question

RANGE_BYTES: Final = 16 << 20
"""Of text a task: some tenths of a second, and a tenth of a gibibyte at most."""

WORTH_BYTES: Final = 128 << 20
"""What one task judges about as fast as two that have to wait for each other."""


def ranges(size_bytes: int, question: Question) -> list[tuple[int, int]]:
    """Where a file is cut; empty if it is not worth it, or cannot be."""
    if question.model != KAFKA or size_bytes <= WORTH_BYTES:
        return []
    return text.spans(size_bytes, RANGE_BYTES)


def read_range(path: Place, lo: int, hi: int, folder: Path) -> ReadPart:
    """Read the lines that begin in [lo, hi) and leave what they say in a folder.

    Raises:
        HistoryError: the records are no lines, or cannot be read, or nothing can be left in the folder; the whole file
            may be read.
    """
    if text.is_vector(path):
        raise HistoryError(f"{path}: the records are one vector")
    history = kafka_format.read_range(path, *text.align(path, lo, hi))
    try:
        return keep(history, folder)
    except OSError as error:
        raise HistoryError(f"{folder}: {error.strerror or error}") from error


def judge_parts(parts: Sequence[ReadPart], question: Question, engine: str) -> Results:
    """The verdict on a file that was read in parts, by one task.

    Raises:
        HistoryError: the parts do not make one history; the whole file may.
    """
    return kafka.answer(kafka_format.join_parts([kafka_parts.load(one.part) for one in parts]), question, engine)
