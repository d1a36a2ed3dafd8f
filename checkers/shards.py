"""From a run folder to the columns of one queue: the only place of the checks that reads rows.

A worker's stream becomes tables once; they are made again when the stream is newer. Everything here
runs where the engine runs its kernels: in this process, or in an executor. A folder of another file
system is read where it is. The module refuses to judge, to merge, and to write there.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from chaos.core.errors import HistoryError
from chaos.core.history import (
    OPERATIONS,
    READ_ROWS,
    SCHEMA_VERSION,
    StreamFacts,
    materialise_stream,
    read_stream,
    workers_of,
)
from chaos.core.place import Place, Remote, of_each
from chaos.core.runinfo import RunInfo, read_run
from checkers.columns import Column, Ints, are_distinct, starts_of
from checkers.event_files import events_of
from checkers.kernel import READ_COLUMNS, QueueShard
from checkers.log import packed
from checkers.rows import Rows
from checkers.table import Table, remedy
from checkers.timeline import Timeline, timeline_of

TABLES: Final = (("operations", OPERATIONS), ("reads", READ_ROWS))
_NEEDED: Final = pa.schema([READ_ROWS.field(name) for name in READ_COLUMNS])

GROUPS: Final = 64
"""Enough to keep many cores busy to the end; summaries are then added up in few steps."""


class Materialised(msgspec.Struct, frozen=True):
    """One worker's tables: what was learned of the stream, and which queues occur."""

    facts: StreamFacts
    keys: tuple[int, ...]


class Tables(NamedTuple):
    """The tables of all workers, in the order of the workers."""

    operations: list[Table]
    reads: list[Table]


def run_of(folder: Place) -> RunInfo:
    """What is known of the run in a folder that holds a history.

    Raises:
        HistoryError: it is no run folder, or holds none that this version reads.
    """
    run = read_run(folder)
    if not (folder / "history").is_dir():
        raise HistoryError(f"{folder}: no folder history; name a run folder that `chaos run` made")
    if run.schema_version != SCHEMA_VERSION:
        raise HistoryError(
            f"{folder}: its history has schema version {run.schema_version}, and this chaos reads {SCHEMA_VERSION}; "
            f"check it with the chaos that wrote it, {run.chaos_version}"
        )
    return run


def workers_in(history: Place) -> list[int]:
    """The workers that left a stream or tables: names of files, nothing is opened."""
    tables = (int(path.stem[1:]) for path in (history / "operations").glob("w*.parquet"))
    return sorted({*workers_of(history), *tables})


def _tables(history: Place, name: str, workers: Iterable[int]) -> list[Place]:
    """A table of each worker, whether it is there or not; one listing tells the sizes and times of all."""
    listed: dict[str, Place] = {path.name: path for path in (history / name).glob("w*.parquet")}
    names = [f"w{worker}.parquet" for worker in workers]
    return [listed.get(file, history / name / file) for file in names]


def _is_fresh(history: Path, worker: int) -> bool:
    tables = [history / name / f"w{worker}.parquet" for name, _ in TABLES]
    if not all(path.exists() for path in tables):
        return False
    made_ns = min(path.stat().st_mtime_ns for path in tables)
    raw = [path for path in history.glob(f"w{worker}.*") if path.suffix in {".ops", ".reads", ".errors"}]
    return all(path.stat().st_mtime_ns <= made_ns for path in raw)


def facts_of(history: Place, worker: int) -> StreamFacts | None:
    """What is known of the stream behind tables that exist already; None where nobody wrote it down.

    Raises:
        HistoryError: it was written and cannot be read.
    """
    path = history / f"w{worker}.facts.json"
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=StreamFacts)
    except msgspec.DecodeError as error:
        raise HistoryError(f"{path}: {error}; {remedy(path)}") from None


def _facts(history: Place, worker: int) -> StreamFacts:
    found, path = facts_of(history, worker), history / f"w{worker}.facts.json"
    if found is None and isinstance(history, Path) and (history / f"w{worker}.ops").exists():
        found = read_stream(history, worker).facts
    if found is None:
        raise HistoryError(f"{path}: missing, and there is no stream to learn it from")
    return found


def materialise(history: Place, worker: int) -> Materialised:
    """Make one worker's tables if they are missing or older than the stream; only look at them elsewhere.

    Raises:
        HistoryError: if the stream or the tables were altered.
    """
    if isinstance(history, Path) and not _is_fresh(history, worker):
        facts = materialise_stream(history, worker)
        partial = history / f"w{worker}.facts.partial"
        partial.write_bytes(msgspec.json.encode(facts))
        partial.rename(history / f"w{worker}.facts.json")
    facts = _facts(history, worker)
    keys: set[int] = set()
    for (name, _), rows in zip(TABLES, (facts.operations, facts.reads), strict=True):
        (path,) = _tables(history, name, [worker])
        table = Table(path)
        if isinstance(path, Remote) and table.rows != rows:  # copied at different times
            told = f"w{worker}.facts.json tells of {rows}"
            raise HistoryError(f"{path}: {table.rows} rows, and {told}; {remedy(path)}")
        keys |= table.keys()
    return Materialised(facts, tuple(sorted(keys)))


def _by_invocation(operations: Mapping[str, Column]) -> Ints | None:
    """The order of operations by invocation."""
    invoke = operations["invoke_ns"]
    if bool((invoke[1:] > invoke[:-1]).all()):
        return None
    order = np.lexsort((operations["op"], operations["worker"], invoke))
    return None if bool((order[1:] > order[:-1]).all()) else order


def _by_read(reads: Mapping[str, Column]) -> Ints | None:
    """The order of records that puts those of one read together, as they were returned."""
    worker, number, position = (reads[name] for name in ("worker", "op", "position"))
    starts = starts_of(worker, number)
    rising = position[1:] > position[:-1]
    rising[starts[1:] - 1] = True
    if are_distinct(packed(worker[starts], number[starts])) and bool(rising.all()):
        return None
    return np.lexsort((position, number, worker))


def tables_of(history: Place) -> Tables:
    """The tables of a history, opened once for all queues that are looked at here.

    Raises:
        HistoryError: if one is damaged or missing.
    """
    workers = workers_in(history)
    paths = [path for name, _ in TABLES for path in _tables(history, name, workers)]
    tables = list(of_each(Table, paths, far=isinstance(history, Remote)))
    return Tables(tables[: len(workers)], tables[len(workers) :])


def load_shard(tables: Tables, key: int, *, lazily: bool = False) -> QueueShard:
    """All rows of one queue, from every worker's tables.

    Args:
        tables: those of all workers.
        key: the queue.
        lazily: decode what is asked for when it is asked for, not all columns at once: for one check among many.

    Raises:
        HistoryError: if a table is damaged or of another version.
    """
    operations = Rows(tables.operations, OPERATIONS, key, _by_invocation)
    reads = Rows(tables.reads, _NEEDED, key, _by_read)
    if not lazily:
        operations.read_all()
        reads.read_all()
    return QueueShard(key, operations, reads)


def grouped(keys: Iterable[int]) -> list[list[int]]:
    """Queues as at most ``GROUPS`` groups of neighbours, ascending: the work that is done in one piece."""
    ordered = sorted(keys)
    size = max(1, -(-len(ordered) // GROUPS))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def load_timeline(history: Place, run: RunInfo) -> Timeline:
    """Sum up the events.

    Raises:
        HistoryError: if they cannot be read.
    """
    return timeline_of(events_of(history), run)
