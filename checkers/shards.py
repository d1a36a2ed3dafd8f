"""From a run folder to the columns of one queue: the only place of the checks that reads rows.

A worker's stream becomes tables once; they are made again when the stream is newer. Everything here
runs where the engine runs its kernels: in this process, or in an executor. The module refuses to
judge and to merge.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

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
        keys |= set(_keys(_table(history, name, worker)))
    return Materialised(facts, tuple(sorted(keys)))


class _Footer(NamedTuple):
    """What a table says of itself: its metadata, and per row group the lowest and the highest queue."""

    metadata: Any
    names: frozenset[str]
    lowest: Ints
    highest: Ints


@lru_cache(maxsize=64)
def _read_footer(path: Path, _size: int, _changed_ns: int) -> _Footer:
    """Worked out once for all queues of a table: it has a row group for each of them."""
    with pq.ParquetFile(path) as file:
        ranges = [_key_range(file, group) for group in range(file.num_row_groups)]
        lowest, highest = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
        return _Footer(file.metadata, frozenset(file.schema_arrow.names), lowest, highest)


def _footer(path: Path) -> _Footer:
    try:
        stat = path.stat()
        return _read_footer(path, stat.st_size, stat.st_mtime_ns)
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(f"{path}: {str(error).splitlines()[0]}; remove the table and check again") from None


def _open(path: Path, metadata: Any = None) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, metadata=metadata)
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(f"{path}: {str(error).splitlines()[0]}; remove the table and check again") from None


def _keys(path: Path) -> list[int]:
    """The queues that occur in a table."""
    footer = _footer(path)
    whole = footer.lowest == footer.highest
    found = set(footer.lowest[whole].tolist())
    mixed = np.flatnonzero(~whole).tolist()
    if mixed:
        with _open(path, footer.metadata) as file:
            found |= set(pc.unique(file.read_row_groups(mixed, columns=["key"])["key"]).to_pylist())
    return sorted(found)


def _key_range(file: pq.ParquetFile, group: int) -> tuple[int, int]:
    """Lowest and highest queue of a row group; a range that excludes nothing where there are no statistics."""
    statistics = file.metadata.row_group(group).column(file.schema_arrow.get_field_index("key")).statistics
    if statistics is None or not statistics.has_min_max:
        return -(1 << 31), (1 << 31) - 1
    return statistics.min, statistics.max


def _rows(path: Path, names: Sequence[str], key: int) -> pa.Table | None:
    """The rows of one queue in one table, from the row groups that can hold it; None where none can."""
    footer = _footer(path)
    missing = [name for name in names if name not in footer.names]
    if missing:
        raise HistoryError(f"{path}: no column {missing[0]}; it was written by another version")
    groups = np.flatnonzero((footer.lowest <= key) & (key <= footer.highest))
    if not len(groups):
        return None
    mixed = bool((footer.lowest[groups] < footer.highest[groups]).any())
    with _open(path, footer.metadata) as file:
        table = file.read_row_groups(groups.tolist(), columns=[*names, *(["key"] if mixed else [])])
    return table.filter(pc.equal(table["key"], key)) if mixed else table


def _column(chunks: list[pa.Array], empty: Column) -> Column:
    """One column of all tables; texts are None where there is none."""
    arrays: list[Column] = []
    for chunk in chunks:
        if pa.types.is_dictionary(chunk.type) and chunk.null_count == len(chunk):
            arrays.append(np.full(len(chunk), None, dtype=object))
        else:
            plain = chunk.cast(pa.string()) if pa.types.is_dictionary(chunk.type) else chunk
            arrays.append(plain.to_numpy(zero_copy_only=False))
    return arrays[0] if len(arrays) == 1 else np.concatenate([empty, *arrays])


def _joined(history: Path, name: str, schema: pa.Schema, key: int) -> dict[str, Column]:
    read = (_rows(_table(history, name, worker), schema.names, key) for worker in workers_in(history))
    tables = [table for table in read if table is not None]
    out: dict[str, Column] = {}
    for field in schema:
        texts = pa.types.is_dictionary(field.type)
        empty = np.zeros(0, dtype=object if texts else field.type.to_pandas_dtype())
        out[field.name] = _column([chunk for table in tables for chunk in table[field.name].chunks], empty)
    return out


def _neighbours(reads: dict[str, Column]) -> dict[str, Column]:
    """Read rows with the rows of one read together, in the order returned."""
    key = (reads["worker"].astype(np.int64) << 40) | reads["op"]
    starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.zeros(0, dtype=np.int64)
    step = np.diff(reads["position"])
    if are_distinct(key[starts]) and bool(((step > 0) | (key[1:] != key[:-1])).all()):
        return reads
    order = np.lexsort((reads["position"], key))
    return {name: column[order] for name, column in reads.items()}


def load_shard(history: Path, key: int) -> QueueShard:
    """All rows of one queue, from every worker's tables.

    Raises:
        HistoryError: if a table is damaged or of another version.
    """
    operations = _joined(history, "operations", OPERATIONS, key)
    order = np.lexsort((operations["op"], operations["worker"], operations["invoke_ns"]))
    sorted_already = bool((np.diff(order) == 1).all())
    if not sorted_already:
        operations = {name: column[order] for name, column in operations.items()}
    return QueueShard(key, operations, _neighbours(_joined(history, "reads", _NEEDED, key)))


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
    with _open(table) as file:
        texts = file.read(columns=["event"])["event"].to_pylist()
    return timeline_of([decoder.decode(text) for text in texts], run)
