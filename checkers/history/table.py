"""One worker's table, on this machine or on another file system: its footer, and the row groups that are asked for.

A table is one Parquet file with a row group for each queue or more. Of it are read the footer, once, and the columns
and row groups that somebody wants: never all of it.
"""

import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chaos.core.errors import HistoryError
from chaos.storage.storage_path import Place, Remote
from chaos.storage.tables import TableSum, footer_size
from checkers.history.columns import Ints

_ANY: Final = (-(1 << 31), (1 << 31) - 1)
_END_BYTES: Final = 1 << 16
"""Read of the end of a table; a longer footer is read again."""


class _Footer(NamedTuple):
    """What a table says of itself: its metadata, and per row group the lowest and the highest queue."""

    metadata: Any
    names: dict[str, int]
    lowest: Ints
    highest: Ints


def _key_range(file: pq.ParquetFile, group: int) -> tuple[int, int]:
    """Lowest and highest queue of a row group; a range that excludes nothing where there are no statistics."""
    statistics = file.metadata.row_group(group).column(file.schema_arrow.get_field_index("key")).statistics
    if statistics is None or not statistics.has_min_max:
        return _ANY
    return statistics.min, statistics.max


@lru_cache(maxsize=256)
def _read_footer(path: Place, size: int, _changed_ns: int, known: TableSum | None) -> _Footer:
    """Worked out once for all queues of a table: it has a row group for each of them."""
    if known is not None and size != known.size:
        raise HistoryError(f"{path}: {size} bytes, and its facts tell of {known.size}; {remedy(path)}")
    end = _end_of(path, size, _END_BYTES)
    length = footer_size(end)
    if len(end) < length <= size:
        end = _end_of(path, size, length)
    end = end[-length:] if length else end
    if known is not None and zlib.crc32(end) != known.footer:
        raise HistoryError(f"{path}: the checksum of its footer is another; it was altered; {remedy(path)}")
    try:
        file = pq.ParquetFile(pa.BufferReader(end))
        ranges = [_key_range(file, group) for group in range(file.num_row_groups)]
    except (pa.ArrowException, OSError, KeyError) as error:
        raise _unreadable(path, error) from None
    lowest, highest = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    leaves = [file.metadata.schema.column(at).path.partition(".")[0] for at in range(file.metadata.num_columns)]
    names = {name: leaves.index(name) for name in file.schema_arrow.names}
    return _Footer(file.metadata, names, lowest, highest)


def _end_of(path: Place, size: int, length: int) -> bytes:
    """The last bytes of a file."""
    try:
        with path.source() if isinstance(path, Remote) else path.open("rb") as file:
            file.seek(max(0, size - length))
            data: bytes = file.read()
            return data
    except OSError as error:
        raise _unreadable(path, error) from None


def _footer(path: Place, known: TableSum | None) -> _Footer:
    try:
        stat = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from None
    return _read_footer(path, stat.st_size, stat.st_mtime_ns, known)


def _unreadable(path: Place, error: Exception) -> HistoryError:
    """What to do about a table that is damaged or missing."""
    return HistoryError(f"{path}: {(str(error).splitlines() or [type(error).__name__])[0]}; {remedy(path)}")


def remedy(path: Place) -> str:
    """What people do about a table, or what is known of its stream, that cannot be read."""
    if isinstance(path, Remote):
        return "check again, or copy the run folder there again"
    return "remove the tables and check again"


class Table:
    """A worker's table, opened once for all queues that are looked at here.

    ``far``: it is on another file system, where a request takes as long as many rows.

    Args:
        path: the file.
        known: what it must be, if that is known.

    Raises:
        HistoryError: it is damaged, missing or another.
    """

    def __init__(self, path: Place, known: TableSum | None = None) -> None:
        self.path = path
        self.far = isinstance(path, Remote)
        self.footer = _footer(path, known)

    @property
    def rows(self) -> int:
        """How many there are."""
        count: int = self.footer.metadata.num_rows
        return count

    @cached_property
    def _source(self) -> Any:
        """The bytes; to open a file of another file system costs as much as to read a column of it."""
        try:
            return self.path.source() if isinstance(self.path, Remote) else pa.OSFile(str(self.path))
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def reader(self) -> pq.ParquetFile:
        """Who reads it; he keeps the bytes that he read last, so not longer than a queue is looked at."""
        return pq.ParquetFile(self._source, metadata=self.footer.metadata, page_checksum_verification=True)

    def keys(self) -> set[int]:
        """The queues that occur."""
        whole = self.footer.lowest == self.footer.highest
        found = set(self.footer.lowest[whole].tolist())
        mixed = np.flatnonzero(~whole).tolist()
        if mixed:
            found |= set(pc.unique(self.decoded(self.reader(), ["key"], mixed)["key"]).to_pylist())
        return found

    def decoded(self, reader: pq.ParquetFile, names: Sequence[str], groups: Sequence[int]) -> pa.Table:
        """Some columns of some row groups.

        Raises:
            HistoryError: they are damaged, or the file system does not give them.
        """
        try:
            table = reader.read_row_groups(groups, columns=list(names))
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from None
        wanted = sum(self.footer.metadata.row_group(group).num_rows for group in groups)
        if table.num_rows != wanted:  # pages carry checksums, their headers do not
            raise HistoryError(f"{self.path}: {table.num_rows} rows where {wanted} must be; {remedy(self.path)}")
        return table

    def batches(
        self, reader: pq.ParquetFile, groups: Sequence[int], rows: int, names: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Rows of some row groups, so many at a time; all columns if none are named.

        Raises:
            HistoryError: they are damaged.
        """
        left = sum(self.footer.metadata.row_group(group).num_rows for group in groups)
        try:
            for batch in reader.iter_batches(rows, row_groups=list(groups), columns=names):
                left -= batch.num_rows
                yield batch
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from None
        if left:
            raise HistoryError(f"{self.path}: rows are missing in it; {remedy(self.path)}")

    def bounds(self, name: str, group: int) -> tuple[int, int] | None:
        """Lowest and highest number of a column in a row group; None if the table does not say, or some are null."""
        told = self.footer.metadata.row_group(group).column(self.footer.names[name])
        found = told.statistics if told.path_in_schema == name else None  # of a list they are its elements'
        if found is None or not found.has_min_max or not found.has_null_count or found.null_count:
            return None
        low, high = found.min, found.max
        return (int(low), int(high)) if isinstance(low, int) and isinstance(high, int) else None

    def encoded(self, name: str, group: int) -> tuple[tuple[Any, ...], bytes]:
        """A column of a row group as it lies in the file, and how it is packed: equal ones hold equal numbers.

        Raises:
            HistoryError: the file system does not give it.
        """
        told = self.footer.metadata.row_group(group).column(self.footer.names[name])
        starts = [told.data_page_offset, told.dictionary_page_offset if told.has_dictionary_page else None]
        start = min(offset for offset in starts if offset is not None)
        packed = (told.physical_type, told.num_values, told.encodings, told.compression)
        try:
            return packed, self._source.read_at(told.total_compressed_size, start)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from None
