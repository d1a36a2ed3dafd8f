"""The rows of one queue in the tables of all workers: columns are decoded when they are asked for.

Of a long history most time goes into decoding, and a single check needs half of it. The module refuses to judge, and
to know what a column means.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chaos.core.errors import HistoryError
from checkers.columns import Column, Ints

_ANY: Final = (-(1 << 31), (1 << 31) - 1)


class _Footer(NamedTuple):
    """What a table says of itself: its metadata, and per row group the lowest and the highest queue."""

    metadata: Any
    names: frozenset[str]
    lowest: Ints
    highest: Ints


def _key_range(file: pq.ParquetFile, group: int) -> tuple[int, int]:
    """Lowest and highest queue of a row group; a range that excludes nothing where there are no statistics."""
    statistics = file.metadata.row_group(group).column(file.schema_arrow.get_field_index("key")).statistics
    if statistics is None or not statistics.has_min_max:
        return _ANY
    return statistics.min, statistics.max


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


def opened(path: Path, metadata: Any = None) -> pq.ParquetFile:
    """A table; ``metadata``: its footer, if that was read before.

    Raises:
        HistoryError: it is damaged or missing.
    """
    try:
        return pq.ParquetFile(path, metadata=metadata)
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(f"{path}: {str(error).splitlines()[0]}; remove the table and check again") from None


def keys_in(path: Path) -> list[int]:
    """The queues that occur in a table, ascending."""
    footer = _footer(path)
    whole = footer.lowest == footer.highest
    found = set(footer.lowest[whole].tolist())
    mixed = np.flatnonzero(~whole).tolist()
    if mixed:
        with opened(path, footer.metadata) as file:
            found |= set(pc.unique(file.read_row_groups(mixed, columns=["key"])["key"]).to_pylist())
    return sorted(found)


class _Part:
    """The rows of one queue in one table, in the row groups that can hold it."""

    def __init__(self, path: Path, key: int) -> None:
        self._path, self._key, self._footer = path, key, _footer(path)
        groups = np.flatnonzero((self._footer.lowest <= key) & (key <= self._footer.highest))
        self._groups: list[int] = groups.tolist()
        self._mixed = bool((self._footer.lowest[groups] < self._footer.highest[groups]).any())

    @cached_property
    def _own(self) -> pa.Array:
        """Of each row whether it is the queue's."""
        return pc.equal(self._decoded(["key"])["key"], self._key)

    def _decoded(self, names: Sequence[str]) -> pa.Table:
        with opened(self._path, self._footer.metadata) as file:
            return file.read_row_groups(self._groups, columns=list(names))

    def read(self, names: Sequence[str]) -> pa.Table | None:
        """These columns; None where the table has no row of the queue."""
        missing = [name for name in names if name not in self._footer.names]
        if missing:
            raise HistoryError(f"{self._path}: no column {missing[0]}; it was written by another version")
        if not self._groups:
            return None
        table = self._decoded(names)
        return table.filter(self._own) if self._mixed else table


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


class Rows(Mapping[str, Column]):
    """The columns of one queue's rows by name, of equal length, in the order of the tables unless it was changed.

    Args:
        tables: a file per worker.
        schema: the columns there are.
        key: the queue.
        eager: what is surely needed, decoded at once; other columns each when they are asked for.

    Raises:
        HistoryError: a table is damaged or of another version.
    """

    def __init__(self, tables: Iterable[Path], schema: pa.Schema, key: int, eager: Sequence[str]) -> None:
        self._schema = schema
        self._parts = [_Part(path, key) for path in tables]
        self._order: Ints | None = None
        self._ready: dict[str, Column] = {}
        self._read(eager)

    def _read(self, names: Sequence[str]) -> None:
        tables = [table for part in self._parts if names and (table := part.read(names)) is not None]
        for name in names:
            kind = self._schema.field(name).type
            empty = np.zeros(0, dtype=object if pa.types.is_dictionary(kind) else kind.to_pandas_dtype())
            column = _column([chunk for table in tables for chunk in table[name].chunks], empty)
            self._ready[name] = column if self._order is None else column[self._order]

    def __getitem__(self, name: str) -> Column:
        if name not in self._ready:
            self._read([self._schema.field(name).name])
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.names)

    def __len__(self) -> int:
        return len(self._schema.names)

    def put(self, order: Ints) -> None:
        """Put the rows in another order, once."""
        assert self._order is None, "an order was set"
        self._order = order
        self._ready = {name: column[order] for name, column in self._ready.items()}
