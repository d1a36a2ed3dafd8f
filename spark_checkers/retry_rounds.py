"""Tasks performed on Spark, each at most three times, in rounds: what broke or got lost is tried again in the next.

Spark repeats a slice when the Python worker or the executor that ran it ended; a repeated slice performs nothing, it
only says that its tasks were lost, so no task can take a job, and with it the answers of all others, down. What never
ends is ended here: a task beyond its limit, a job whose executors are gone. Does not interpret an answer.
"""

import itertools
import math
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import pyarrow as pa

from chaos.basics import progress
from spark_checkers.failure_reasons import cause
from spark_checkers.masters import ATTEMPTS
from spark_checkers.session import executors, session, shipped_archive
from spark_checkers.shipping import tasks_body
from spark_checkers.tasks import ANSWERS, Failed

ROUNDS: Final = 3
SLICES: Final = 32
SLICES_PER_CORE: Final = 4
LOST_S: Final = 120.0
_POLL_S: Final = 0.25
_groups: Final = itertools.count()


def slices_for(count: int, nth_round: int, cores: int) -> int:
    """Into how many slices so many tasks are cut: a slice costs far more than a small task, so a few for each core.

    From the second round on one each: then a task that ends its Python takes no other along.
    """
    return count if nth_round > 0 else min(count, max(SLICES, SLICES_PER_CORE * cores))


def late_after_s(limits_s: Sequence[float]) -> float:
    """Seconds after which a slice is ended, from the limits of its tasks (0: none).

    Of several nobody knows which hangs: they are ended early and tried alone, where each has its own limit.
    """
    if not all(limits_s):
        return math.inf
    return limits_s[0] if len(limits_s) == 1 else 2 * max(limits_s)


def slice_of(index: int, slices: int, count: int) -> range:
    """The positions of the tasks in a slice, as Spark cuts a table."""
    return range(index * count // slices, (index + 1) * count // slices)


def is_final(answer: Any) -> bool:
    """Whether trying again cannot change an answer: a result, a history at fault, time that is up."""
    return not isinstance(answer, Failed) or answer.altered or answer.overtime_s > 0


class _Watch:
    """A thread beside a job: tells how far it is, ends tasks beyond their limits, and the job if nobody is left."""

    def __init__(self, context: Any, group: str, limits_s: Sequence[float], done_before: int, of: int) -> None:
        self._context, self._group, self._limits_s = context, group, limits_s
        self._done_before, self._of = done_before, of
        self._told = progress.current_listener()
        self._over = threading.Event()
        self._seen_at = self._began = time.monotonic()
        self.stopped: dict[int, tuple[range, float]] = {}
        self.why = ""
        self._thread = threading.Thread(target=self._run, name="spark-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        try:
            while not self._over.wait(_POLL_S):
                self._look()
        except Exception as error:  # noqa: BLE001 - the JVM is gone, and whoever waits for the job learns it too
            self.why = self.why or f"Spark does not answer: {cause(str(error))}"

    def _look(self) -> None:
        now = time.monotonic()
        if executors(self._context):
            self._seen_at = now
        elif now - self._seen_at > LOST_S:
            self.why = f"no executor was left for {LOST_S:g} s"
            self._context.cancelJobGroup(self._group)
        tracker = self._context.statusTracker()
        for job in tracker.getJobIdsForGroup(self._group):
            for number in getattr(tracker.getJobInfo(job), "stageIds", ()):
                stage = tracker.getStageInfo(number)
                if stage is None or not stage.numTasks:
                    continue
                count = len(self._limits_s)
                self._told("tasks", self._done_before + stage.numCompletedTasks * count // stage.numTasks, self._of)
                if any(self._limits_s) and now - self._began > min(filter(None, self._limits_s)):
                    self._end_late(number, stage.numTasks)

    def _end_late(self, stage: int, slices: int) -> None:
        """Have Spark end the slices that ran longer than they may."""
        spark = self._context._jsc.sc()  # noqa: SLF001 - there is no public way to a single task
        jvm_now_ms = self._context._jvm.java.lang.System.currentTimeMillis()  # noqa: SLF001
        rows = spark.statusStore().taskList(stage, 0, slices * ATTEMPTS)
        for row in (rows.apply(i) for i in range(rows.size())):
            index = row.index()
            if row.status() != "RUNNING" or index in self.stopped:
                continue
            positions = slice_of(index, slices, len(self._limits_s))
            late_s = late_after_s([self._limits_s[i] for i in positions])
            ran_s = (jvm_now_ms - row.launchTime().getTime()) / 1000
            if ran_s > late_s:
                self.stopped[index] = positions, ran_s
                spark.killTaskAttempt(row.taskId(), True, "beyond its limit")


def _round(
    numbers: Sequence[int], table: Callable[[Sequence[int]], pa.Table], limits_s: Sequence[float], nth: int, of: int
) -> dict[int, Any]:
    """One job over the tasks of these numbers; an answer for each."""
    spark = session()
    slices = slices_for(len(numbers), nth, spark.sparkContext.defaultParallelism)
    group = f"chaos-{next(_groups)}"
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", str(slices))
    spark.sparkContext.setJobGroup(group, "chaos", interruptOnCancel=True)
    own_limits_s = [limits_s[number] for number in numbers]
    with _Watch(spark.sparkContext, group, own_limits_s, of - len(numbers), of) as watch:
        try:
            rows = spark.createDataFrame(table(numbers)).mapInArrow(tasks_body(shipped_archive()), ANSWERS).toArrow()
        except Exception as error:  # noqa: BLE001 - whatever ended the job, each of its tasks says so
            why = watch.why or cause(str(error))
            return {number: Failed(why, altered=False, job=True) for number in numbers}
    answers = {
        number: pickle.loads(answer)  # noqa: S301 - our own executors wrote it
        for number, answer in zip(rows["number"].to_pylist(), rows["answer"].to_pylist(), strict=True)
    }
    for positions, ran_s in watch.stopped.values():
        alone = numbers[positions[0]]
        if len(positions) == 1 and isinstance(found := answers.get(alone), Failed) and found.lost:
            answers[alone] = Failed("its time was up", altered=False, overtime_s=ran_s)
    return {number: answers.get(number, Failed("Spark returned no answer", altered=False)) for number in numbers}


def perform_tasks(count: int, table: Callable[[Sequence[int]], pa.Table], limits_s: Sequence[float]) -> list[Any]:
    """Have Spark perform tasks, what breaks or gets lost up to three times.

    Args:
        count: how many there are; they have the numbers from 0.
        table: the rows of the tasks of some numbers, in the shape of ``tasks.TASKS``.
        limits_s: for each the seconds after which it is ended, 0 if it may run on.

    Returns:
        By number what was returned, or a ``Failed``.
    """
    answers: dict[int, Any] = {}
    numbers: Sequence[int] = range(count)
    for nth in range(ROUNDS):
        if not numbers:
            break
        found = _round(numbers, table, limits_s, nth, count)
        answers |= found
        if any(isinstance(one, Failed) and one.job for one in found.values()):
            break  # the job as a whole, not a task: it would end so again
        numbers = [number for number in numbers if not is_final(found[number])]
    return [answers[number] for number in range(count)]
