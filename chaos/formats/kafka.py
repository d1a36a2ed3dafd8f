"""Reads Kafka-style histories into columns: the fast reader where it can, the general one where it must.

``read`` is for a whole file, ``read_range`` for a byte range of one whose records are lines (``text.chunks``), so that
many can read one file: ``joined`` makes one history of what they give.

The module refuses to hold text beyond one chunk.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Final

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.storage_path import Place
from chaos.formats import kafka_text, text
from chaos.formats.jepsen import EventReader
from chaos.formats.kafka_columns import (
    KafkaColumns,
    concatenate,
    in_index_order,
    is_in_index_order,
    numbered,
    reordered,
)
from chaos.formats.kafka_rows import Rows
from chaos.formats.missing import Missing
from chaos.formats.records import Event


@dataclass(frozen=True, slots=True, eq=False)
class KafkaHistory:
    """``columns`` as far as the file could be read; ``cut_off`` says where it ends too early, or None.

    ``missing``: what may then be missing. ``others``: the records that no client made (nemeses), in the order of the
    file.
    """

    columns: KafkaColumns
    cut_off: str | None
    others: tuple[Event, ...] = ()
    missing: Missing = Missing.LATER


def read(path: Place, *, processes: int | None = None) -> KafkaHistory:
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
        share = -(-path.stat().st_size // processes)
        ranges = text.chunks(path, min(share, _SHARE_BYTES))
        with (
            contextlib.suppress(HistoryError, BrokenProcessPool),
            ProcessPoolExecutor(processes, get_context("spawn")) as pool,
        ):
            return joined(list(pool.map(read_range, [path] * len(ranges), *zip(*ranges, strict=True))))
    return joined([read_range(path)])


_WORTH_A_PROCESS_BYTES: Final = 64 << 20
_SHARE_BYTES: Final = 64 << 20


def joined(parts: Sequence[KafkaHistory]) -> KafkaHistory:
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
    columns = concatenate([part.columns for part in parts])
    missing = Missing.LATER if is_in_index_order(columns) else Missing.ANY
    return KafkaHistory(numbered(in_index_order(columns)), cut_off, others, missing)


def read_range(path: Place, lo: int = 0, hi: int | None = None) -> KafkaHistory:
    """The records of a byte range that begins and ends at line ends, in the order of the file.

    Keys are numbered for this part alone, and an index may be missing: ``joined`` mends both. Line numbers in errors
    count from the range's first line; where the file is cut off is said by the file's own.

    Raises:
        HistoryError: naming file, line and fault.
    """
    found = _range(EventReader(path, lo, hi))
    if lo > 0 and found.cut_off is not None:
        return _range(EventReader(path, lo, hi, 1 + text.lines_before(path, lo)))
    return found


def _range(reader: EventReader) -> KafkaHistory:
    json = reader.path.exists() and text.is_json(reader.path)
    others: list[Event] = []
    parts = [_chunk(reader, chunk, others, json=json) for chunk in reader.records.chunks()]
    return KafkaHistory(concatenate(parts), reader.cut_off, tuple(others))


def _chunk(reader: EventReader, chunk: text.Chunk, others: list[Event], *, json: bool) -> KafkaColumns:
    """One chunk: its known lines at once, then the others one by one, put where they belong."""
    taken = kafka_text.take(chunk.data, json=json)
    if not len(taken.refused):
        return taken.columns
    general, lines, unfinished = _general(reader, chunk, taken.refused.tolist(), others, json=json)
    columns = concatenate([taken.columns, general])
    places = np.concatenate([taken.lines, lines])
    order = np.argsort(places, kind="stable")
    return reordered(columns, order if unfinished is None else order[places[order] < unfinished])


def _general(
    reader: EventReader, chunk: text.Chunk, numbers: Iterable[int], others: list[Event], *, json: bool
) -> tuple[KafkaColumns, list[int], int | None]:
    """Some lines of a chunk by the general reader: columns, the line of each record, the line that did not end.

    Records that no client made are added to ``others``.
    """
    rows = Rows(json=json)
    lines: list[int] = []
    texts = chunk.data.split(b"\n")
    for number in numbers:
        events = reader.line(texts[number], int(chunk.lines[number]), json=json, rewritten=chunk.offset < 0)
        if events is None:
            reader.records.unfinished(chunk, number)
            return rows.columns(), lines, number
        for event in events:
            try:
                rows.add(event)
            except ValueError as error:
                raise HistoryError(f"{reader.path}:{event.line}: {error}") from error
            lines.append(number)
            if not isinstance(event.process, int):
                others.append(event)
    return rows.columns(), lines, None
