"""What is timed on run folders: single checks on both engines, DuckDB's way, and where the time goes.

Each function runs in a process of its own (``measuring.work``).
"""

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial, reduce
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.measuring import profile, times
from chaos.core.op import Type
from chaos.models.log.words import F
from checkers.engine.installed_checks import panel
from checkers.engine.local_engine import Duty, begin, examine_shards
from checkers.history.check_input import Context
from checkers.history.folder_integrity import context_of, evidence_of
from checkers.history.shards import group_keys, load_shard, load_timeline, materialise, tables_of
from checkers.log.linearizable import LinearizableKernel
from checkers.log.lost_writes import LossKernel

KERNELS = {"no-loss": LossKernel(), "linearizable-offsets": LinearizableKernel()}


def _context_of_folder(folder: str) -> tuple[Path, Context, list[int]]:
    evidence, history = evidence_of(Path(folder)), Path(folder) / "history"
    made = [materialise(history, worker, evidence.run.model, evidence.manifest) for worker in evidence.workers]
    context = context_of(evidence, made, load_timeline(history, evidence.run, evidence.manifest))
    return history, context, sorted({key for one in made for key in one.keys})


_tables = lru_cache(tables_of)


def _examine_group(history: Path, context: Context, name: str, keys: Sequence[int]) -> Any:
    """One kernel over a group of queues, as both engines form them; tables are opened once by each process."""
    tables = _tables(history, "log")
    return _merge_summaries(
        name, (KERNELS[name].examine(load_shard(tables, key, lazily=True), context) for key in keys)
    )


def _merge_summaries(name: str, summaries: Iterable[Any]) -> Any:
    return reduce(KERNELS[name].merge, summaries)


def _count_found(name: str, summaries: Iterable[Any]) -> dict[str, Any]:
    total = _merge_summaries(name, summaries)
    return {"examined": total.examined, "found": sum(one.count for one in total.found.values())}


def time_local(folder: str, kernel: str, repeats: int) -> dict[str, Any]:
    """One kernel over all queues, by as many processes as there are cores."""
    history, context, keys = _context_of_folder(folder)
    answer: dict[str, Any] = {}
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn"), initializer=begin) as pool:
        some = partial(_examine_group, history, context, kernel)
        took = times(lambda: answer.update(_count_found(kernel, pool.map(some, group_keys(keys)))), repeats)
    return {**took, **answer}


def _in_executor(batches: Iterator[pa.RecordBatch], folder: str, kernel: str, context: bytes) -> Any:
    begin()  # as the engine does
    for batch in batches:
        for keys in batch["keys"].to_pylist():
            summary = _examine_group(Path(folder) / "history", pickle.loads(context), kernel, keys)  # noqa: S301 - made here
            yield pa.RecordBatch.from_pydict({"answer": pa.array([pickle.dumps(summary)], pa.binary())})


def time_spark(folder: str, kernel: str, repeats: int) -> dict[str, Any]:
    """The same as tasks of Spark. ``cold_s``: the first job of a session; ``start_s``: until there was one."""
    from spark_checkers.session import session

    _, context, keys = _context_of_folder(folder)
    pickled, answer = pickle.dumps(context), {}
    start_s = times(session, 1)["cold_s"]
    task = partial(_in_executor, folder=folder, kernel=kernel, context=pickled)

    def job() -> None:
        rows = (
            session().createDataFrame(pa.table({"keys": group_keys(keys)})).mapInArrow(task, "answer binary").toArrow()
        )
        answer.update(_count_found(kernel, (pickle.loads(one) for one in rows["answer"].to_pylist())))  # noqa: S301

    return {**times(job, repeats), **answer, "start_s": start_s}


ANTI_JOIN = """
select count(*) from (
  select writer, sequence from read_parquet('{operations}')
  where f in ({sends}) and type = {ok}
) acked anti join (
  select writer, sequence from read_parquet('{reads}') where f = {drain}
) final using (writer, sequence)
"""


def time_duckdb(folder: str, repeats: int) -> dict[str, Any]:
    """No-loss as SQL says it: acknowledged sends that no final read returned."""
    import duckdb as db

    history = Path(folder) / "history"
    query = ANTI_JOIN.format(
        operations=history / "operations" / "*.parquet",
        reads=history / "reads" / "*.parquet",
        sends=f"{int(F.SEND)}, {int(F.SCHEDULE)}",
        ok=int(Type.OK),
        drain=int(F.DRAIN),
    )
    connection = db.connect(config={"threads": len(os.sched_getaffinity(0))})
    connection.execute("set enable_progress_bar = false")  # it would be printed among what this process answers
    answer: list[int] = []
    took = times(lambda: answer.append(connection.execute(query).fetchone()[0]), repeats)
    return {**took, "found": answer[-1]}


def profile_checks(folder: str, kernel: str | None = None) -> dict[str, Any]:
    """Where the time of one queue goes: of one kernel, of all if none is named."""
    history, context, keys = _context_of_folder(folder)
    load_shard(tables_of(history, "log"), keys[0])
    act = (
        partial(_examine_group, history, context, kernel, keys[-1:])
        if kernel
        else (lambda: examine_shards(history, Duty.of(context, panel(context)), keys[-1:]))
    )
    return {"profile": profile(act)}
