"""What runs in an executor: one row names a piece of work, one row carries its small summary back.

A task opens its own files; no row of a history ever travels. Does not let an exception kill a job: it travels as a
value, and the driver tries again or raises it.
"""

import pickle
import socket
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from chaos.core.errors import ChaosError, HistoryError, UsageError
from chaos.storage.storage_path import Place, place

TASKS: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("kind", pa.string()),  # stream, events, queues, imported, or a step of its own
        ("folder", pa.string()),  # the history folder; the file of an imported history
        ("key", pa.int64()),  # the worker, or a number of the step's own
        ("context", pa.binary()),  # pickled: see ``perform``
    ]
)
ANSWERS: Final = "number long, answer binary"
_ANSWER: Final = pa.schema([("number", pa.int64()), ("answer", pa.binary())])


class Task(NamedTuple):
    """A row of the table of tasks. ``limit_s``: it is ended after so many seconds, unless 0."""

    kind: str
    history: Place
    key: int
    context: bytes = b""
    limit_s: float = 0.0


class Failed(msgspec.Struct, frozen=True):
    """A task has no answer.

    ``altered``: the history is at fault, not the check. ``lost``: what ran it ended. ``job``: all of the job's tasks
    ended so. ``overtime_s``: it was ended after so many seconds, beyond its limit.
    """

    why: str
    altered: bool
    lost: bool = False
    job: bool = False
    overtime_s: float = 0.0


def error_of(failed: Failed) -> ChaosError:
    """What a task raised, to be raised in the driver."""
    return HistoryError(failed.why) if failed.altered else ChaosError(f"a check broke on Spark: {failed.why}")


def perform(kind: str, history: Place, key: int, context: Any) -> Any:
    """Do one piece of work.

    Args:
        kind: ``stream`` (make a worker's tables), ``events`` (sum them up), ``queues`` (run the checks over some),
            ``imported`` (judge a file that another tool wrote); any other names a step of judging one that is large.
        history: the run's history folder, or that file.
        key: the worker, or a number of the step's own.
        context: the model's name and the manifest for ``stream``, the run and the manifest for ``events``, what is
            called for a step, the question for ``imported``; for ``queues`` the duty and the queues.
    """
    from checkers.engine.local_engine import begin, examine_shards
    from checkers.history.shards import load_timeline, materialise, workers_in

    if kind == "imported":
        from checkers.imported.judge_file import judge

        return judge(history, context, "spark")
    if callable(context):
        return context()
    if kind == "stream":
        return materialise(history, key, *context)
    if kind == "events":
        return load_timeline(history, *context)
    duty, keys = context
    streams = duty.context.streams
    seen = len(workers_in(history))
    if seen != len(streams):  # a folder that is not shared, or not yet: part of a history is none
        raise HistoryError(
            f"{history}: {seen} workers' streams on {socket.gethostname()} and {len(streams)} elsewhere; "
            "is it on a file system that all executors share?"
        )
    begin()
    return examine_shards(history, duty, keys)


def load_checks(places: Sequence[str]) -> None:
    """Load checks by their places, ``module:Class``, in the process that performs this."""
    from checkers.engine.installed_checks import instance

    for one in places:
        instance(one)


def answer(kind: str, folder: str, key: int, context: bytes) -> bytes:
    """``perform`` with its result, or what it raised, pickled."""
    try:
        found = perform(kind, place(folder), key, pickle.loads(context) if context else None)  # noqa: S301 - our own
    except (HistoryError, UsageError) as error:
        found = Failed(str(error), altered=True)
    except Exception as error:  # noqa: BLE001 - the driver raises it
        found = Failed(f"{type(error).__name__}: {error}", altered=False)
    return pickle.dumps(found)


def run_tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The body of ``mapInArrow``: a row of answers per row of tasks.

    Where Spark repeats a slice, one of its tasks may be what ended its Python: nothing is performed, all are lost.
    """
    from pyspark import TaskContext

    task = TaskContext.get()
    repeated = task is not None and task.attemptNumber() > 0
    lost = pickle.dumps(Failed("the Python worker or the executor that ran it ended", altered=False, lost=True))
    for batch in batches:
        for row in batch.to_pylist():
            found = lost if repeated else answer(row["kind"], row["folder"], row["key"], row["context"])
            yield pa.RecordBatch.from_pylist([{"number": row["number"], "answer": found}], schema=_ANSWER)
