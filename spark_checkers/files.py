"""How a file that another tool wrote is judged: as one task, or cut into ranges if it is large.

A file is a generator of rounds: it gives tasks, is given their answers, and ends with its verdict. ``together`` takes
the rounds of all files as jobs, so that many small files are one job and a large one delays no other. The module
refuses to open a file: it asks for its size.
"""

import contextlib
import pickle
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from chaos.core.errors import ChaosError, HistoryError
from chaos.core.place import Place
from chaos.core.verdict import Results
from checkers.imported import kafka_apart as apart
from checkers.imported.question import Question
from checkers.imported.ranges import judge_parts, ranges, read_range
from checkers.kafka.check import EDGES
from checkers.kafka.kernel import Options
from spark_checkers.tasks import Failed, Task, error_of

Verdict = Results | ChaosError
Rounds = Generator[list[Task], list[Any], Verdict]
Steps = Generator[list[Task], list[Any], Any]
Cut = Callable[[int, Question], list[tuple[int, int]]]
Share = Callable[[Sequence[apart.ReadPart]], list[list[int]]]


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


def together(files: Sequence[Rounds], run: Callable[[list[Task]], list[Any]]) -> list[Verdict]:
    """The verdicts of all files; each round of theirs is one job.

    Args:
        files: as ``judged`` gives them.
        run: performs tasks and gives their answers in the same order.
    """
    verdicts: dict[int, Verdict] = {}
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
                    verdicts[number] = end.value
            found = iter(run([task for tasks in asked.values() for task in tasks]))
            answers = {number: [next(found) for _ in tasks] for number, tasks in asked.items()}
    return [verdicts[number] for number in range(len(files))]


def _size_bytes(path: Place) -> int:
    """The size of a file, 0 if it cannot be seen from here: the task that reads it will say why."""
    try:
        return path.stat().st_size
    except (OSError, ChaosError):
        return 0


def judged(
    path: Place, question: Question, room: Path | None, cut: Cut = ranges, share: Share = apart.groups
) -> Rounds:
    """The rounds of one file.

    Args:
        path: the file.
        question: what is asked of it.
        room: where tasks may leave what they read; None: nowhere, so that one task reads and judges.
        cut: where a file of so many bytes is cut.
        share: which logs are judged together.
    """
    spans = cut(_size_bytes(path), question) if room is not None else []
    note = ""
    if room is not None and spans:
        try:
            with _scratch(room) as folder:
                verdict: Results = yield from _in_ranges(path, question, folder, spans, share)
        except HistoryError:
            pass  # what cannot be read in parts is read by one task, which also has the right words for what is wrong
        except ChaosError as error:
            note = f"judged by one task, since a part of it failed: {error}"
        else:
            return verdict
    answer: Any
    (answer,) = yield [Task("imported", path, 0, pickle.dumps(question))]
    return error_of(answer) if isinstance(answer, Failed) else msgspec.structs.replace(answer, engine_note=note)


def _in_ranges(path: Place, question: Question, folder: Path, spans: list[tuple[int, int]], share: Share) -> Steps:
    """Read in ranges, then judge log by log; by one task, if the order of the file is not that of its index.

    Raises:
        HistoryError: it cannot be read in ranges.
        ChaosError: a task broke.
    """

    def tasks(kind: str, calls: Sequence[Callable[[], Any]]) -> Steps:
        answers = yield [Task(kind, path, number, pickle.dumps(call)) for number, call in enumerate(calls)]
        for answer in answers:
            if isinstance(answer, Failed):
                raise error_of(answer)
        return answers

    parts = yield from tasks("range", [partial(read_range, path, lo, hi, folder) for lo, hi in spans])
    if not apart.regular(parts):
        (verdict,) = yield from tasks("parts", [partial(judge_parts, parts, question, "spark")])
        return verdict
    (paired,) = yield from tasks("pair", [partial(apart.pair, parts, folder)])
    logs = share(parts)
    looks = []
    if paired.unsure and len(logs) > 1:
        looks = yield from tasks("look", [partial(apart.look, parts, paired, one, folder) for one in logs])

    def examine(kind: str, options: Options) -> Steps:
        calls = [partial(apart.examine, parts, paired, one, looks, options, folder) for one in logs]
        return (yield from tasks(kind, calls))

    found = yield from examine("logs", apart.options_of(paired, question))
    edges = (yield from examine("edges", EDGES)) if any(one.future for one in found) else []
    (verdict,) = yield from tasks("verdict", [partial(apart.conclude, parts, paired, found, edges, question, "spark")])
    return verdict
