"""Histories as columns from files: many lines at once where a fast reader takes them, one by one where it does not.

A ``Kind`` says how a kind of history becomes columns; Kafka-style histories and transactions have one each. ``read`` is
for a whole file, ``read_range`` for a byte range of one whose records are lines (``text.chunks``), so that many can
read one file: ``join_parts`` makes one history of what they give. Text is held one chunk at a time.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from chaos.basics.memory import keep_freed
from chaos.core.errors import HistoryError
from chaos.formats import text
from chaos.formats.jepsen import EventReader
from chaos.formats.kafka_columns import NONE, Ints, Ops
from chaos.formats.missing import Missing
from chaos.formats.records import Event
from chaos.storage.storage_path import Place


class Columns(Protocol):
    """The columns of a kind of history: a dataclass with a row of ``ops`` per record."""

    @property
    def ops(self) -> Ops:
        """The records."""
        ...


C = TypeVar("C", bound=Columns)
C_co = TypeVar("C_co", bound=Columns, covariant=True)


class Rows(Protocol[C_co]):
    """Columns that grow record by record."""

    def add(self, event: Event) -> None:
        """Append one record.

        Raises:
            ValueError: saying what in its value is not understood.
        """
        ...

    def columns(self) -> C_co:
        """What was added."""
        ...


@dataclass(frozen=True, eq=False)  # generic classes with slots cannot be called by an alias
class Taken(Generic[C]):
    """What a fast reader made of a chunk.

    ``columns``: the records of the lines that were taken. ``lines``: the line of each of these records, from 0.
    ``refused``: the lines that are for the general reader.
    """

    columns: C
    lines: Ints
    refused: Ints


class Kind(Protocol[C]):
    """How a kind of history becomes columns; other processes are sent it."""

    def take(self, data: bytes, *, json: bool) -> Taken[C]:
        """The lines of a chunk that are of known shapes."""
        ...

    def rows(self, *, json: bool) -> Rows[C]:
        """What the other lines are added to."""
        ...

    def concatenate(self, parts: Sequence[C]) -> C:
        """The parts of one file, in its order, as one."""
        ...

    def reordered(self, columns: C, order: Ints) -> C:
        """The same records in another order: ``order[i]`` is the row that comes to stand at i; others go."""
        ...

    def numbered(self, columns: C) -> C:
        """The same history with ids that do not tell how the file was cut."""
        ...


@dataclass(frozen=True, eq=False)
class History(Generic[C]):
    """``columns`` as far as the file could be read; ``cut_off`` says where it ends too early, or None.

    ``missing``: what may then be missing. ``others``: the records that no client made (nemeses), in the order of the
    file.
    """

    columns: C
    cut_off: str | None
    others: tuple[Event, ...] = ()
    missing: Missing = Missing.LATER


def read(kind: Kind[C], path: Place, *, processes: int | None = None) -> History[C]:
    """A whole history.

    ``processes``: how many read a file whose records are lines; None: what this machine has, for a file that is worth
    it. What cannot be read in parts is read by one, which also finds the right words for what is wrong.

    Raises:
        HistoryError: naming file, line and fault.
    """
    if not path.is_file():
        raise HistoryError(f"{path}: there is no such file")
    if processes is None:
        processes = min(os.cpu_count() or 1, path.stat().st_size // _WORTH_A_PROCESS_BYTES)
    if processes > 1 and not text.is_vector(path):
        rounds = -(-path.stat().st_size // (processes * _SHARE_BYTES))
        ranges = text.chunks(path, -(-path.stat().st_size // (processes * rounds)))
        with (
            contextlib.suppress(HistoryError, BrokenProcessPool),
            ProcessPoolExecutor(processes, get_context("spawn"), keep_freed) as pool,
        ):
            return join_parts(kind, list(pool.map(partial(read_range, kind, path), *zip(*ranges, strict=True))))
    return join_parts(kind, [read_range(kind, path)])


_WORTH_A_PROCESS_BYTES: Final = 64 << 20
_SHARE_BYTES: Final = 32 << 20
"""Of text that a process reads at a time at most; all have as many such shares."""


def join_parts(kind: Kind[C], parts: Sequence[History[C]]) -> History[C]:
    """The parts of one file, in its order, as one history in the order of its index: the same however it was cut.

    Raises:
        HistoryError: records follow a part that is cut off, so that there was more to it than the part could know.
    """
    full = [part for part in parts if part.cut_off is not None or len(part.columns.ops.index)]
    for part in full[:-1]:
        if part.cut_off is not None:
            raise HistoryError(f"records follow where {part.cut_off}")
    cut_off = full[-1].cut_off if full else None
    others = tuple(event for part in parts for event in part.others)
    columns = kind.concatenate([part.columns for part in parts])
    missing = Missing.LATER if _is_in_index_order(columns) else Missing.ANY
    return History(kind.numbered(in_index_order(kind, columns)), cut_off, others, missing)


def _is_in_index_order(columns: Columns) -> bool:
    """Whether records stand in the order of their index; positions count if any record has none."""
    index = columns.ops.index
    return bool((index == NONE).any()) or bool((index[1:] >= index[:-1]).all())


def in_index_order(kind: Kind[C], columns: C) -> C:
    """The same history with ``ops`` ascending by index; positions instead, if any record has none."""
    ops, found = columns.ops, columns
    if len(ops.index) and bool((ops.index == NONE).any()):
        ops = dataclasses.replace(ops, index=np.arange(len(ops.index), dtype=np.int64))
        changed: Any = found  # every kind's columns are a dataclass
        found = dataclasses.replace(changed, ops=ops)
    if bool((ops.index[1:] >= ops.index[:-1]).all()):
        return found
    return kind.reordered(found, np.argsort(ops.index, kind="stable"))


def read_range(kind: Kind[C], path: Place, lo: int = 0, hi: int | None = None) -> History[C]:
    """The records of a byte range that begins and ends at line ends, in the order of the file.

    Ids are of this part alone, and an index may be missing: ``join_parts`` mends both. Line numbers in errors count
    from the range's first line; where the file is cut off is said by the file's own.

    Raises:
        HistoryError: naming file, line and fault.
    """
    found = _range(kind, EventReader(path, lo, hi))
    if lo > 0 and found.cut_off is not None:
        return _range(kind, EventReader(path, lo, hi, 1 + text.lines_before(path, lo)))
    return found


def _range(kind: Kind[C], reader: EventReader) -> History[C]:
    json = reader.path.exists() and text.is_json(reader.path)
    others: list[Event] = []
    parts = [_chunk(kind, reader, chunk, others, json=json) for chunk in reader.records.chunks()]
    return History(kind.concatenate(parts), reader.cut_off, tuple(others))


def _chunk(kind: Kind[C], reader: EventReader, chunk: text.Chunk, others: list[Event], *, json: bool) -> C:
    """One chunk: its known lines at once, then the others one by one, put where they belong."""
    taken = kind.take(chunk.data, json=json)
    if not len(taken.refused):
        return taken.columns
    rows = kind.rows(json=json)
    lines, unfinished = _general(rows, reader, chunk, taken.refused.tolist(), others, json=json)
    columns = kind.concatenate([taken.columns, rows.columns()])
    places = np.concatenate([taken.lines, np.array(lines, dtype=np.int64)])
    order = np.argsort(places, kind="stable")
    return kind.reordered(columns, order if unfinished is None else order[places[order] < unfinished])


def _general(
    rows: Rows[C],
    reader: EventReader,
    chunk: text.Chunk,
    numbers: Iterable[int],
    others: list[Event],
    *,
    json: bool,
) -> tuple[list[int], int | None]:
    """Add some lines of a chunk by the general reader: the line of each record, the line that did not end.

    Records that no client made are added to ``others``.
    """
    lines: list[int] = []
    texts = chunk.data.split(b"\n")
    for number in numbers:
        events = reader.line(texts[number], int(chunk.lines[number]), json=json, rewritten=chunk.offset < 0)
        if events is None:
            reader.records.unfinished(chunk, number)
            return lines, number
        for event in events:
            try:
                rows.add(event)
            except ValueError as error:
                raise HistoryError(f"{reader.path}:{event.line}: {error}") from error
            lines.append(number)
            if not isinstance(event.process, int):
                others.append(event)
    return lines, None
