"""Run folders judged on Spark: two jobs whatever their number, summaries added up in the driver.

The first job turns streams and events into tables and facts, the second runs the checks over groups of
queues of every folder. The driver plans, merges summaries and writes verdicts; it opens no table and no
stream (a test makes every reader and check raise in the driver).
"""

import pickle
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from chaos.core.errors import ChaosError
from chaos.core.verdict import Results
from chaos.storage.storage_path import Place
from checkers.engine.installed_checks import Panel, panel
from checkers.engine.judge import Judged, Part, conclude, merge_parts
from checkers.engine.local_engine import Duty
from checkers.history.check_input import Context
from checkers.history.folder_integrity import Evidence, context_of, evidence_of
from checkers.history.shards import group_keys
from checkers.imported.options import Question
from spark_checkers.files import judge_rounds, room_for, verdicts
from spark_checkers.retry_rounds import perform_tasks
from spark_checkers.session import session
from spark_checkers.tasks import TASKS, Failed, Task, error_of, load_checks


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

    return perform_tasks(len(tasks), table, [task.limit_s for task in tasks])


def warm_up(places: Sequence[str]) -> None:
    """Do the first job of the session, which takes ten times as long as a later one, before anybody waits for it.

    The JVM loads what carries tasks, and a Python worker per core what judges. Workers without work end after a minute.

    Args:
        places: where the checks are, ``module:Class``.

    Raises:
        CapabilityError: Spark cannot run here.
    """
    load = pickle.dumps(partial(load_checks, tuple(places)))
    _run([Task("load", Path.cwd(), number, load) for number in range(session().sparkContext.defaultParallelism)])


_Found = tuple[Context, list[int]] | Failed | ChaosError


def _contexts(each: Sequence[Evidence]) -> list[_Found]:
    """The first job: tables and timelines. Per folder the context and the queues, or what went wrong."""
    tasks: list[Task] = []
    owner: list[int] = []
    for i, evidence in enumerate(each):
        stream = pickle.dumps((evidence.run.model, evidence.manifest))
        events = pickle.dumps((evidence.run, evidence.manifest))
        tasks += [Task("stream", evidence.history, worker, stream) for worker in evidence.workers]
        tasks.append(Task("events", evidence.history, 0, events))
        owner += [i] * (len(tasks) - len(owner))
    answers = _run(tasks)
    out: list[_Found] = []
    for i, evidence in enumerate(each):
        own = [one for one, number in zip(answers, owner, strict=True) if number == i]
        failed = [one for one in own if isinstance(one, Failed)]
        if failed:
            out.append(failed[0])
            continue
        *made, timeline = own
        try:
            context = context_of(evidence, made, timeline)
        except ChaosError as error:
            out.append(error)
        else:
            out.append((context, sorted({key for one in made for key in one.keys})))
    return out


def _evidence_of(folder: Place) -> Evidence | ChaosError:
    try:
        return evidence_of(folder.absolute())  # where a task runs, another folder may be the current one
    except ChaosError as error:
        return error


def judge_each(folders: Sequence[Place], only: Collection[str] = (), note: str = "") -> list[Judged | ChaosError]:
    """Judge several folders in one session and two jobs, without writing the verdicts.

    Executors open their own tables, also those of another file system, which is to hold them already.

    A folder that holds no history, or an altered one, yields its error and disturbs no other. ``only``: the checks
    that are asked for, by name; all if none is named. ``note``: why on Spark, in a line for people.

    Raises:
        CapabilityError: Spark cannot run here.
    """
    each = [_evidence_of(folder) for folder in folders]
    found = iter(_judged([one for one in each if isinstance(one, Evidence)], tuple(only), note))
    return [one if isinstance(one, ChaosError) else next(found) for one in each]


def _judged(each: Sequence[Evidence], only: tuple[str, ...], note: str) -> list[Judged | ChaosError]:
    """The two jobs over folders that can be read."""
    contexts = _contexts(each)
    tasks: list[Task] = []
    owner: list[int] = []
    panels: dict[int, Panel] = {}
    for i, found in enumerate(contexts):
        if isinstance(found, tuple):
            context, keys = found
            try:
                panels[i] = panel(context, only)
            except ChaosError as error:
                contexts[i] = error
                continue
            duty, groups = Duty.of(context, panels[i]), group_keys(keys)
            shared = [pickle.dumps((duty, group)) for group in groups]
            tasks += [Task("keys", each[i].history, 0, one) for one in shared]
            owner += [i] * len(groups)
    answers = _run(tasks)
    out: list[Judged | ChaosError] = []
    for i, found in enumerate(contexts):
        own = [one for one, number in zip(answers, owner, strict=True) if number == i]
        failed = found if isinstance(found, Failed) else next((one for one in own if isinstance(one, Failed)), None)
        try:
            if isinstance(found, ChaosError):
                raise found
            if failed is not None:
                raise error_of(failed)
            assert isinstance(found, tuple)
            part = merge_parts((part for part in own if isinstance(part, Part)), panels[i].examiners())
            out.append(conclude(part, found[0], panels[i], "spark", note))
        except ChaosError as error:
            out.append(error)
    return out


def judge_imported(
    paths: Sequence[Place], question: Question, scratch: Path | None = None, note: str = ""
) -> list[Results | ChaosError]:
    """Judge files that other tools wrote: one task a file, several jobs and many tasks for a large one.

    A file that cannot be read yields its error and disturbs no other; one whose check does not end is unknown.

    Args:
        paths: the files.
        question: what is asked of them.
        scratch: a folder that all executors reach, for the parts of large files; None: the system's temporary one for
            a local master, else beside each file.
        note: why on Spark, in a line for people.

    Raises:
        CapabilityError: Spark cannot run here.
    """
    master = session().sparkContext.master
    files = [judge_rounds(path.absolute(), question, room_for(path.absolute(), master, scratch)) for path in paths]
    return [_noted(found, note) for found in verdicts(files, _run)]


def _noted(found: Results | ChaosError, note: str) -> Results | ChaosError:
    if isinstance(found, ChaosError):
        return found
    both = "; ".join(text for text in (note, found.engine_note) if text)
    return msgspec.structs.replace(found, engine_note=both)
