"""The rows of a stored history in time order, read shard by shard and never as a whole.

Each worker's table has one row group per queue, in time order inside: the row groups that a filter can want are
streamed side by side and merged by time, so that memory holds one batch of each. Does not judge.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chaos.core.errors import HistoryError
from checkers.history.folder_integrity import evidence_of
from checkers.history.shards import materialise
from checkers.history.table import Table

BATCH_ROWS: Final = 8192


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which operations are wanted; an empty set wants all. Times are CLOCK_MONOTONIC ns of the invocation."""

    keys: frozenset[int] = frozenset()
    processes: frozenset[int] = frozenset()
    kinds: frozenset[int] = frozenset()
    types: frozenset[int] = frozenset()
    nodes: frozenset[int] = frozenset()
    from_ns: int | None = None
    to_ns: int | None = None

    def columns(self) -> Mapping[str, frozenset[int]]:
        """Column of ``operations`` → the values that are wanted, only where not all are."""
        named = {"key": self.keys, "process": self.processes, "f": self.kinds, "type": self.types, "node": self.nodes}
        return {column: values for column, values in named.items() if values}


class Operation(NamedTuple):
    """One operation: when it was invoked, its identity, and its row by column."""

    invoke_ns: int
    worker: int
    op: int
    row: dict[str, Any]


def tables_of(folder: Path, name: str) -> list[Table]:
    """The files of one table, made from the streams where they are missing or older.

    Raises:
        HistoryError: the folder holds no history, one that was altered, or one of another version.
    """
    evidence = evidence_of(folder)
    if not evidence.workers:
        raise HistoryError(f"{folder}: it has no operations; the run ended before its load")
    made = [
        materialise(evidence.history, worker, evidence.run.model, evidence.manifest).facts
        for worker in evidence.workers
    ]
    return [Table(evidence.history / name / f"w{facts.worker}.parquet", facts.tables.get(name)) for facts in made]


def _groups(file: pq.ParquetFile, wanted: Wanted) -> Iterator[int]:
    """The row groups that may hold something that is wanted, by their statistics."""
    meta = file.metadata
    place = {meta.schema.column(number).path: number for number in range(meta.num_columns)}
    for group in range(meta.num_row_groups):
        ranges = {}
        for column in (*wanted.columns(), "invoke_ns"):
            found = meta.row_group(group).column(place[column]).statistics
            if found is not None and found.has_min_max:
                ranges[column] = (found.min, found.max)
        if all(
            any(low <= value <= high for value in values)
            for column, values in wanted.columns().items()
            if column in ranges
            for low, high in [ranges[column]]
        ) and _overlaps(ranges.get("invoke_ns"), wanted):
            yield group


def _overlaps(span: tuple[int, int] | None, wanted: Wanted) -> bool:
    if span is None:
        return True
    before = wanted.to_ns is not None and span[0] > wanted.to_ns
    after = wanted.from_ns is not None and span[1] < wanted.from_ns
    return not before and not after


def _rows(table: Table, file: pq.ParquetFile, group: int, wanted: Wanted) -> Iterator[Operation]:
    """The wanted rows of one row group, in time order (the order in which they are stored)."""
    for batch in table.batches(file, [group], BATCH_ROWS):
        first_ns = batch["invoke_ns"][0].as_py() if batch.num_rows else 0
        if wanted.to_ns is not None and first_ns > wanted.to_ns:
            return
        for row in _filtered(batch, wanted).to_pylist():
            yield Operation(row["invoke_ns"], row["worker"], row["op"], row)


def _filtered(batch: pa.RecordBatch, wanted: Wanted) -> pa.RecordBatch:
    masks = [
        pc.is_in(batch[column], pa.array(sorted(values), batch[column].type))
        for column, values in wanted.columns().items()
    ]
    if wanted.from_ns is not None:
        masks.append(pc.greater_equal(batch["invoke_ns"], wanted.from_ns))
    if wanted.to_ns is not None:
        masks.append(pc.less_equal(batch["invoke_ns"], wanted.to_ns))
    for mask in masks[1:]:
        masks[0] = pc.and_(masks[0], mask)
    return batch.filter(masks[0]) if masks else batch


def operations(tables: Iterable[Table], wanted: Wanted) -> Iterator[Operation]:
    """The wanted operations of these tables in order of their invocation, streamed.

    Raises:
        HistoryError: a table is damaged.
    """
    streams = []
    for table in tables:
        file = table.reader()
        streams += [_rows(table, file, group, wanted) for group in _groups(file, wanted)]
    yield from heapq.merge(*streams, key=lambda one: one[:3])


def reads_of(
    tables: Iterable[Table], *, key: int | None, value: tuple[int, int] | None, offset: int | None
) -> set[tuple[int, int]]:
    """(worker, op) of every read that returned a value, or anything at an offset. One of the two is given."""
    wanted = Wanted(keys=frozenset() if key is None else frozenset({key}))
    columns = ["worker", "op", "key", *(["writer", "sequence"] if value else ["offset"])]
    found: set[tuple[int, int]] = set()
    for table in tables:
        file = table.reader()
        for batch in table.batches(file, list(_groups(file, wanted)), BATCH_ROWS * 8, columns):
            if value is not None:
                mask = pc.and_(pc.equal(batch["writer"], value[0]), pc.equal(batch["sequence"], value[1]))
            else:
                mask = pc.equal(batch["offset"], offset)
            if key is not None:
                mask = pc.and_(mask, pc.equal(batch["key"], key))
            hits = batch.filter(mask)
            found |= set(zip(hits["worker"].to_pylist(), hits["op"].to_pylist(), strict=True))
    return found
