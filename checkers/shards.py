"""From a run folder to the columns of one queue: the only place of the checks that reads rows.

A worker's stream becomes tables once; they are made again when the stream is newer. Everything here
runs where the engine runs its kernels: in this process, or in an executor. The module refuses to
judge and to merge.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from chaos.core.errors import HistoryError
from chaos.core.events import Event
from chaos.core.history import (
    OPERATIONS,
    READ_ROWS,
    SCHEMA_VERSION,
    StreamFacts,
    materialise_events,
    materialise_stream,
    read_stream,
    workers_of,
)
from chaos.core.runinfo import RunInfo, read_run
from checkers.columns import Column, Ints, are_distinct
from checkers.kernel import READ_COLUMNS, QueueShard
from checkers.rows import Rows, keys_in, opened
from checkers.timeline import Timeline, timeline_of

TABLES: Final = (("operations", OPERATIONS), ("reads", READ_ROWS))
_NEEDED: Final = pa.schema([READ_ROWS.field(name) for name in READ_COLUMNS])

GROUPS: Final = 64
"""Enough to keep many cores busy to the end; summaries are then added up in few steps."""


class Materialised(msgspec.Struct, frozen=True):
    """One worker's tables: what was learned of the stream, and which queues occur."""

    facts: StreamFacts
    keys: tuple[int, ...]


def _table(history: Path, name: str, worker: int) -> Path:
    return history / name / f"w{worker}.parquet"


def run_of(folder: Path) -> RunInfo:
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


def workers_in(history: Path) -> list[int]:
    """The workers that left a stream or tables."""
    tables = (int(path.stem[1:]) for path in (history / "operations").glob("w*.parquet"))
    return sorted({*workers_of(history), *tables})


def _is_fresh(history: Path, worker: int) -> bool:
    tables = [_table(history, name, worker) for name, _ in TABLES]
    if not all(path.exists() for path in tables):
        return False
    made_ns = min(path.stat().st_mtime_ns for path in tables)
    raw = [path for path in history.glob(f"w{worker}.*") if path.suffix in {".ops", ".reads", ".errors"}]
    return all(path.stat().st_mtime_ns <= made_ns for path in raw)


def _facts(history: Path, worker: int) -> StreamFacts:
    """What is known of the stream behind tables that exist already."""
    path = history / f"w{worker}.facts.json"
    if path.exists():
        try:
            return msgspec.json.decode(path.read_bytes(), type=StreamFacts)
        except msgspec.DecodeError as error:
            raise HistoryError(f"{path}: {error}; remove the tables and check again") from None
    if (history / f"w{worker}.ops").exists():
        return read_stream(history, worker).facts
    raise HistoryError(f"{path}: missing, and there is no stream to learn it from")


def materialise(history: Path, worker: int) -> Materialised:
    """Make one worker's tables if they are missing or older than the stream.

    Raises:
        HistoryError: if the stream or the tables were altered.
    """
    if not _is_fresh(history, worker):
        facts = materialise_stream(history, worker)
        partial = history / f"w{worker}.facts.partial"
        partial.write_bytes(msgspec.json.encode(facts))
        partial.rename(history / f"w{worker}.facts.json")
    facts = _facts(history, worker)
    keys: set[int] = set()
    for name, _ in TABLES:
        keys |= set(keys_in(_table(history, name, worker)))
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
    new = number[1:] != number[:-1]
    if len(worker) and worker.min() < worker.max():
        new |= worker[1:] != worker[:-1]
    starts = np.concatenate((np.zeros(min(1, len(number)), dtype=np.int64), np.flatnonzero(new) + 1))
    rising = position[1:] > position[:-1]
    rising |= new
    if are_distinct((worker[starts].astype(np.int64) << 40) | number[starts]) and bool(rising.all()):
        return None
    return np.lexsort((position, number, worker))


def load_shard(history: Path, key: int, *, lazily: bool = False) -> QueueShard:
    """All rows of one queue, from every worker's tables.

    Args:
        history: the folder of the tables.
        key: the queue.
        lazily: decode what is asked for when it is asked for, not all columns at once: for one check among many.

    Raises:
        HistoryError: if a table is damaged or of another version.
    """
    workers = workers_in(history)
    operations, reads = (
        Rows([_table(history, name, worker) for worker in workers], schema, key, order)
        for name, schema, order in (("operations", OPERATIONS, _by_invocation), ("reads", _NEEDED, _by_read))
    )
    if not lazily:
        operations.read_all()
        reads.read_all()
    return QueueShard(key, operations, reads)


def grouped(keys: Iterable[int]) -> list[list[int]]:
    """Queues as at most ``GROUPS`` groups of neighbours, ascending: the work that is done in one piece."""
    ordered = sorted(keys)
    size = max(1, -(-len(ordered) // GROUPS))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def load_timeline(history: Path, run: RunInfo) -> Timeline:
    """Sum up the events; their table is made if it is missing or older than the event files."""
    table = history / "events.parquet"
    files = list(history.glob("*.events"))
    if not table.exists() or any(path.stat().st_mtime_ns > table.stat().st_mtime_ns for path in files):
        materialise_events(history)
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Event)
    with opened(table) as file:
        texts = file.read(columns=["event"])["event"].to_pylist()
    return timeline_of([decoder.decode(text) for text in texts], run)
