"""How a file that another tool wrote is judged: as one task, or cut into ranges if it is large.

A file is a generator of rounds: it gives tasks, is given their answers, and ends with its verdict. ``verdicts`` takes
the rounds of all files as jobs, so that many small files are one job and a large one delays no other. Does not open a
file: it asks for its size.
"""

import contextlib
import pickle
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.core.errors import ChaosError, HistoryError
from chaos.core.verdict import UNKNOWN, Results
from chaos.storage.storage_path import Place
from checkers.imported import kafka_tasks
from checkers.imported.figures import Figures
from checkers.imported.options import Question
from checkers.imported.ranges import judge_parts, ranges, read_range
from checkers.imported.results import results_of_file
from checkers.kafka.check import EDGES
from checkers.kafka.per_log import Options
from spark_checkers.tasks import Failed, Task, error_of

Verdict = Results | ChaosError
Rounds = Generator[list[Task], list[Any], Verdict]
Steps = Generator[list[Task], list[Any], Any]
Cut = Callable[[int, Question], list[tuple[int, int]]]
Share = Callable[[Sequence[kafka_tasks.ReadPart]], list[list[int]]]

GRACE_S: Final = 60.0
SLOWEST_BYTES_PER_S: Final = 1_000_000
"""A file is read and judged many times faster; what is slower than this hangs."""


class _OvertimeError(Exception):
    """A step was ended, beyond its limit."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.why)
        self.failed = failed


def limit_s(size_bytes: int, budget_s: float) -> float:
    """Seconds after which a task over so much of a file is ended: far more than it takes unless it hangs."""
    return 2 * budget_s + GRACE_S + size_bytes / SLOWEST_BYTES_PER_S


def _stopped(failed: Failed, question: Question) -> Results:
    """The verdict on a file whose check was ended."""
    return results_of_file(
        model=question.model,
        engine="spark",
        valid=UNKNOWN,
        anomalies={},
        cut_off=None,
        examined="no part to its end",
        figures=Figures(),
        reason=f"its check on Spark had not ended after {failed.overtime_s:.0f} s and was stopped, with a budget of "
        f"{question.budget_s:g} s of search (--budget gives it more)",
    )


def room_for(path: Place, master: str, given: Path | None) -> Path | None:
    """The folder in which all tasks may leave parts of a file; None if nobody knows of one.

    Args:
        path: the file.
        master: Spark's.
        given: what was asked for.
    """
    if given is not None:
        return given
    if master.startswith("local"):
        return Path(tempfile.gettempdir())
    return path.parent if isinstance(path, Path) else None


@contextlib.contextmanager
def _scratch(room: Path) -> Iterator[Path]:
    """A new folder for the parts of a file, gone afterwards.

    Raises:
        HistoryError: nothing can be written there.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="chaos-check-", dir=room))
    except OSError as error:
        raise HistoryError(f"{room}: {error.strerror}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def verdicts(files: Sequence[Rounds], run: Callable[[list[Task]], list[Any]]) -> list[Verdict]:
    """The verdicts of all files; each round of theirs is one job.

    Args:
        files: as ``judge_rounds`` gives them.
        run: performs tasks and gives their answers in the same order.
    """
    found: dict[int, Verdict] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(files)))
    with contextlib.ExitStack() as at_last:
        for file in files:
            at_last.callback(file.close)
        while answers:
            asked: dict[int, list[Task]] = {}
            for number, got in answers.items():
                try:
                    asked[number] = files[number].send(got)
                except StopIteration as end:
                    found[number] = end.value
            if not asked:
                break
            told = iter(run([task for tasks in asked.values() for task in tasks]))
            answers = {number: [next(told) for _ in tasks] for number, tasks in asked.items()}
    return [found[number] for number in range(len(files))]


def _size_bytes(path: Place) -> int:
    """The size of a file, 0 if it cannot be seen from here: the task that reads it will say why."""
    try:
        return path.stat().st_size
    except (OSError, ChaosError):
        return 0


def judge_rounds(
    path: Place, question: Question, room: Path | None, cut: Cut = ranges, share: Share = kafka_tasks.groups
) -> Rounds:
    """The rounds of one file.

    Args:
        path: the file.
        question: what is asked of it.
        room: where tasks may leave what they read; None: nowhere, so that one task reads and judges.
        cut: where a file of so many bytes is cut.
        share: which logs are judged together.
    """
    size = _size_bytes(path)
    spans = cut(size, question) if room is not None else []
    note = ""
    if room is not None and spans:
        try:
            with _scratch(room) as folder:
                verdict: Results = yield from _in_ranges(path, question, folder, spans, share)
        except _OvertimeError as stopped:  # one task would take longer still
            return _stopped(stopped.failed, question)
        except HistoryError:
            pass  # what cannot be read in parts is read by one task, which also has the right words for what is wrong
        except ChaosError as error:
            note = f"judged by one task, since a part of it failed: {error}"
        else:
            return verdict
    answer: Results | Failed
    (answer,) = yield [Task("imported", path, 0, pickle.dumps(question), limit_s(size, question.budget_s))]
    if not isinstance(answer, Failed):
        return msgspec.structs.replace(answer, engine_note=note)
    return _stopped(answer, question) if answer.overtime_s else error_of(answer)


def _in_ranges(path: Place, question: Question, folder: Path, spans: list[tuple[int, int]], share: Share) -> Steps:
    """Read in ranges, then judge log by log; by one task, if the order of the file is not that of its index.

    Raises:
        HistoryError: it cannot be read in ranges.
        ChaosError: a task broke.
        _OvertimeError: a task was ended, whatever became of the others.
    """
    whole_bytes = spans[-1][1]

    def tasks(kind: str, calls: Sequence[Callable[[], Any]], size_bytes: int = whole_bytes) -> Steps:
        within_s = limit_s(size_bytes, question.budget_s)  # what comes after the ranges may read parts of all of them
        answers = yield [Task(kind, path, number, pickle.dumps(call), within_s) for number, call in enumerate(calls)]
        failed = [answer for answer in answers if isinstance(answer, Failed)]
        for answer in failed:
            if answer.overtime_s:
                raise _OvertimeError(answer)
        if failed:
            raise error_of(failed[0])
        return answers

    longest_bytes = max(hi - lo for lo, hi in spans)
    parts = yield from tasks("range", [partial(read_range, path, lo, hi, folder) for lo, hi in spans], longest_bytes)
    if not kafka_tasks.is_in_order(parts):
        (verdict,) = yield from tasks("parts", [partial(judge_parts, parts, question, "spark")])
        return verdict
    (paired,) = yield from tasks("pair", [partial(kafka_tasks.pair, parts, folder)])
    logs = share(parts)
    looks = []
    if paired.unsure and len(logs) > 1:
        looks = yield from tasks("look", [partial(kafka_tasks.look, parts, paired, one, folder) for one in logs])

    def examine(kind: str, options: Options) -> Steps:
        calls = [partial(kafka_tasks.examine, parts, paired, one, looks, options, folder) for one in logs]
        return (yield from tasks(kind, calls))

    found = yield from examine("logs", kafka_tasks.options_of(paired, question))
    edges = (yield from examine("edges", EDGES)) if any(one.future for one in found) else []
    concluding = partial(kafka_tasks.conclude, parts, paired, found, edges, question, "spark")
    (verdict,) = yield from tasks("verdict", [concluding])
    return verdict
