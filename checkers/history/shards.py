"""From a run folder to the columns of one queue: the only place of the checks that reads rows.

A worker's stream becomes tables once; they are made again when the stream is newer. Everything here runs where the
engine runs its kernels: in this process, or in an executor. A folder of another file system is read where it is. Does
not write there.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from chaos.core.errors import HistoryError
from chaos.core.model import Model
from chaos.models.registry import model_named, model_of
from chaos.storage.history import StreamFacts, materialise_stream, read_stream, table_schemas, workers_of
from chaos.storage.manifest import (
    STREAM_SUFFIXES,
    Manifest,
    check_document,
    compare,
    copy_again,
    stream_suffixes,
    sum_of,
)
from chaos.storage.runinfo import RunInfo, read_run
from chaos.storage.storage_path import Place, Remote, of_each
from checkers.history.check_input import READ_COLUMNS, QueueShard
from checkers.history.columns import Column, Ints, are_distinct, starts_of
from checkers.history.events import events_of
from checkers.history.log import pack_number
from checkers.history.rows import Rows
from checkers.history.table import Table, remedy
from checkers.history.timeline import Timeline, timeline_of

GROUPS: Final = 64
"""Enough to keep many cores busy to the end; summaries are then added up in few steps."""


class Materialised(msgspec.Struct, frozen=True):
    """One worker's tables: what was learned of the stream, and which queues occur."""

    facts: StreamFacts
    keys: tuple[int, ...]


class Tables(NamedTuple):
    """The tables of all workers, in the order of the workers, and the columns that are read of them.

    ``reads`` is empty if the model brings no rows.
    """

    operations: list[Table]
    reads: list[Table]
    operation_columns: pa.Schema
    read_columns: pa.Schema


def run_of(folder: Place) -> RunInfo:
    """What is known of the run in a folder that holds a history.

    Raises:
        HistoryError: it is no run folder, or holds none that this version reads.
    """
    run = read_run(folder)
    if not (folder / "history").is_dir():
        raise HistoryError(f"{folder}: no folder history; name a run folder that `chaos run` made")
    model_of(run)
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


def _streams(history: Place, worker: int) -> dict[str, Place]:
    """The files of a worker's stream that are there."""
    files = [history / f"w{worker}{suffix}" for suffix in STREAM_SUFFIXES]
    return {path.name: path for path in files if path.exists()}


def _is_fresh(
    history: Path, worker: int, names: Iterable[str], facts: StreamFacts | None, manifest: Manifest | None
) -> bool:
    """Whether a worker's tables are there and no stream is newer, or another, than that of which they were made."""
    tables = [history / name / f"w{worker}.parquet" for name in names]
    if not all(path.exists() for path in tables):
        return False
    streams = _streams(history, worker)
    if streams and (facts is None or (manifest is not None and not facts.tables)):
        return False
    made_of = {} if facts is None else facts.made_of
    if any(name in made_of and made_of[name].size != path.stat().st_size for name, path in streams.items()):
        return False
    made_ns = min(path.stat().st_mtime_ns for path in tables)
    return all(path.stat().st_mtime_ns <= made_ns for path in streams.values())


def facts_of(history: Place, worker: int, manifest: Manifest | None = None) -> StreamFacts | None:
    """What is known of the stream behind tables that exist already; None where nobody wrote it down.

    Raises:
        HistoryError: it was written and cannot be read, or was altered.
    """
    path = history / f"w{worker}.facts.json"
    if not path.exists():
        return None
    try:
        data = path.read_bytes()
        facts = msgspec.json.decode(data, type=StreamFacts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HistoryError(f"{path}: {error}; {remedy(path)}") from None
    check_document(path, data, must=manifest is not None)
    if manifest is not None:
        compare(path, sum_of(data), manifest.of_history(path.name))
    return facts


def _must_be_of(path: Place, facts: StreamFacts, model: Model, manifest: Manifest) -> None:
    """Hold what tables were made of against the manifest."""
    if manifest.of_history(path.name) is not None:
        return  # a history without streams: the manifest proves the facts themselves
    names = (f"w{facts.worker}{suffix}" for suffix in stream_suffixes(model))
    wanted = {name: manifest.of_history(name) for name in names}
    if not facts.tables or facts.made_of != wanted:
        raise HistoryError(f"{path}: its tables were made of other streams than the manifest names; {remedy(path)}")


def _facts(history: Place, worker: int, model: Model, manifest: Manifest | None) -> StreamFacts:
    found, path = facts_of(history, worker, manifest), history / f"w{worker}.facts.json"
    if found is None and manifest is None and isinstance(history, Path) and _streams(history, worker):
        found = read_stream(history, worker, model).facts
    if found is None:
        raise HistoryError(f"{path}: missing, and there is no stream to learn it from; {copy_again(path)}")
    if manifest is not None:
        _must_be_of(path, found, model, manifest)
    return found


def materialise(history: Place, worker: int, model_name: str, manifest: Manifest | None = None) -> Materialised:
    """Make one worker's tables if they are missing or older than the stream; only look at them elsewhere.

    Args:
        history: the folder ``history``.
        worker: its number.
        model_name: whose operations they are.
        manifest: what the files must be; None where the run left none.

    Raises:
        HistoryError: if the stream or the tables were altered.
    """
    model = model_named(model_name)
    names = tuple(table_schemas(model))
    if isinstance(history, Path) and not _is_fresh(history, worker, names, facts_of(history, worker), manifest):
        materialise_stream(history, worker, model, manifest)
    facts = _facts(history, worker, model, manifest)
    keys: set[int] = set()
    for name, rows in zip(names, (facts.operations, facts.reads), strict=False):
        (path,) = _tables(history, name, [worker])
        table = Table(path, facts.tables.get(name))
        if table.rows != rows:  # copied at different times
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
    if are_distinct(pack_number(worker[starts], number[starts])) and bool(rising.all()):
        return None
    return np.lexsort((position, number, worker))


def tables_of(history: Place, model_name: str, streams: Iterable[StreamFacts] = ()) -> Tables:
    """The tables of a history, opened once for all queues that are looked at here.

    Args:
        history: the folder ``history``.
        model_name: whose operations it holds.
        streams: what is known of the workers' streams, and so what their tables must be.

    Raises:
        HistoryError: if one is damaged or missing.
    """
    workers, known = workers_in(history), {facts.worker: facts.tables for facts in streams}
    schemas = table_schemas(model_named(model_name))
    paths = [path for name in schemas for path in _tables(history, name, workers)]
    sums = [known.get(worker, {}).get(name) for name in schemas for worker in workers]
    tables = list(of_each(lambda one: Table(*one), zip(paths, sums, strict=True), far=isinstance(history, Remote)))
    reads = schemas.get("reads", pa.schema([]))
    needed = pa.schema([reads.field(name) for name in READ_COLUMNS if name in reads.names])
    return Tables(tables[: len(workers)], tables[len(workers) :], schemas["operations"], needed)


def load_shard(tables: Tables, key: int, *, lazily: bool = False) -> QueueShard:
    """All rows of one queue, from every worker's tables.

    Args:
        tables: those of all workers.
        key: the queue.
        lazily: decode what is asked for when it is asked for, not all columns at once: for one check among many.

    Raises:
        HistoryError: if a table is damaged or of another version.
    """
    operations = Rows(tables.operations, tables.operation_columns, key, _by_invocation)
    reads = Rows(tables.reads, tables.read_columns, key, _by_read)
    if not lazily:
        operations.read_all()
        reads.read_all()
    return QueueShard(key, operations, reads)


def group_keys(keys: Iterable[int]) -> list[list[int]]:
    """Queues as at most ``GROUPS`` groups of neighbours, ascending: the work that is done in one piece."""
    ordered = sorted(keys)
    size = max(1, -(-len(ordered) // GROUPS))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def load_timeline(history: Place, run: RunInfo, manifest: Manifest | None = None) -> Timeline:
    """Sum up the events.

    Raises:
        HistoryError: if they cannot be read, or were altered.
    """
    return timeline_of(events_of(history, manifest), run)
