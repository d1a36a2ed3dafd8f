"""Run folders judged on Spark: two jobs whatever their number, summaries added up in the driver.

The first job turns streams and events into tables and facts, the second runs the kernels over groups of
queues of every folder. The driver plans, merges summaries and writes verdicts; it opens no table and no
stream (a test makes every reader and kernel raise in the driver).
"""

import pickle
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from chaos.core.errors import ChaosError
from chaos.core.place import Place
from chaos.core.runinfo import RunInfo
from chaos.core.verdict import Results
from checkers.imported.question import Question
from checkers.judge import Judged, Part, conclude, together
from checkers.kernel import Context
from checkers.local import new_judging
from checkers.shards import grouped, run_of, workers_in
from spark_checkers.files import judged, room_for, verdicts
from spark_checkers.rounds import performed
from spark_checkers.session import session
from spark_checkers.tasks import TASKS, Failed, Task, error_of


def _run(tasks: Sequence[Task]) -> list[Any]:
    """Have Spark perform the tasks; their answers in the same order, a ``Failed`` where there is none."""

    def table(numbers: Sequence[int]) -> pa.Table:
        own = [tasks[number] for number in numbers]
        columns = {
            "number": list(numbers),
            "kind": [task.kind for task in own],
            "folder": [str(task.history) for task in own],
            "key": [task.key for task in own],
            "context": [task.context for task in own],
        }
        return pa.table(columns, schema=TASKS)

    return performed(len(tasks), table, [task.limit_s for task in tasks])


def _contexts(folders: Sequence[Place], runs: Sequence[RunInfo]) -> list[tuple[Context, list[int]] | Failed]:
    """The first job: tables and timelines. Per folder the context and the queues, or what went wrong."""
    tasks: list[Task] = []
    owner: list[int] = []
    for i, (folder, run) in enumerate(zip(folders, runs, strict=True)):
        history = folder.absolute() / "history"  # where the task runs, another folder may be the current one
        tasks += [Task("stream", history, worker) for worker in workers_in(history)]
        tasks.append(Task("events", history, 0, pickle.dumps(run)))
        owner += [i] * (len(tasks) - len(owner))
    answers = _run(tasks)
    out: list[tuple[Context, list[int]] | Failed] = []
    for i, run in enumerate(runs):
        own = [one for one, number in zip(answers, owner, strict=True) if number == i]
        failed = [one for one in own if isinstance(one, Failed)]
        if failed:
            out.append(failed[0])
            continue
        *made, timeline = own
        context = Context(run=run, streams=tuple(one.facts for one in made), timeline=timeline)
        out.append((context, sorted({key for one in made for key in one.keys})))
    return out


def _run_of(folder: Place) -> RunInfo | ChaosError:
    try:
        return run_of(folder)
    except ChaosError as error:
        return error


def judge_each(folders: Sequence[Place], only: Collection[str] = ()) -> list[Judged | ChaosError]:
    """Judge several folders in one session and two jobs, without writing the verdicts.

    Executors open their own tables, also those of another file system, which is to hold them already.

    A folder that holds no history, or an altered one, yields its error and disturbs no other. ``only``: the checks
    that are asked for, by name; all if none is named.

    Raises:
        CapabilityError: Spark cannot run here.
    """
    runs = [_run_of(folder) for folder in folders]
    readable = [(folder, run) for folder, run in zip(folders, runs, strict=True) if not isinstance(run, ChaosError)]
    found = iter(_judged([folder for folder, _ in readable], [run for _, run in readable], tuple(only)))
    return [run if isinstance(run, ChaosError) else next(found) for run in runs]


def _judged(folders: Sequence[Place], runs: Sequence[RunInfo], only: tuple[str, ...]) -> list[Judged | ChaosError]:
    """The two jobs over folders that can be read."""
    contexts = _contexts(folders, runs)
    tasks: list[Task] = []
    owner: list[int] = []
    for i, found in enumerate(contexts):
        if not isinstance(found, Failed):
            context, keys = found
            history, groups = folders[i].absolute() / "history", grouped(keys)
            judging = new_judging()
            tasks += [Task("queues", history, 0, pickle.dumps((context, judging, group, only))) for group in groups]
            owner += [i] * len(groups)
    answers = _run(tasks)
    out: list[Judged | ChaosError] = []
    for i, found in enumerate(contexts):
        own = [one for one, number in zip(answers, owner, strict=True) if number == i]
        failed = found if isinstance(found, Failed) else next((one for one in own if isinstance(one, Failed)), None)
        try:
            if failed is not None:
                raise error_of(failed)
            assert not isinstance(found, Failed)
            part = together(part for part in own if isinstance(part, Part))
            out.append(conclude(part, found[0], "spark", only=only))
        except ChaosError as error:
            out.append(error)
    return out


def judge_imported(
    paths: Sequence[Place], question: Question, scratch: Path | None = None
) -> list[Results | ChaosError]:
    """Judge files that other tools wrote: one task a file, several jobs and many tasks for a large one.

    A file that cannot be read yields its error and disturbs no other; one whose check does not end is unknown.

    Args:
        paths: the files.
        question: what is asked of them.
        scratch: a folder that all executors reach, for the parts of large files; None: the system's temporary one for
            a local master, else beside each file.

    Raises:
        CapabilityError: Spark cannot run here.
    """
    master = session().sparkContext.master
    files = [judged(path.absolute(), question, room_for(path.absolute(), master, scratch)) for path in paths]
    return verdicts(files, _run)
