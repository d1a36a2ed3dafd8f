"""The rows of one queue in the tables of all workers: columns are decoded when they are asked for.

Of a long history most time goes into decoding, and a single check needs half of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chaos.core.errors import HistoryError
from chaos.storage.storage_path import AHEAD_BYTES, of_each
from checkers.history.columns import Column, Ints, distinct
from checkers.history.table import Table, remedy

Order = Callable[[Mapping[str, Column]], Ints | None]
"""The order in which the rows of some columns belong; None if it is the one they have."""


class _Part:
    """The rows of one queue in one table, in the row groups that can hold it."""

    def __init__(self, table: Table, key: int) -> None:
        self.table, self._key, self._footer = table, key, table.footer
        groups = np.flatnonzero((self._footer.lowest <= key) & (key <= self._footer.highest))
        self._mixed = bool((self._footer.lowest[groups] < self._footer.highest[groups]).any())
        self._sizes: dict[int, int] = {
            group: self._footer.metadata.row_group(group).num_rows for group in groups.tolist()
        }

    @cached_property
    def _own(self) -> pa.Array:
        """Of each row whether it is the queue's."""
        return pc.equal(self._decoded(["key"], list(self._sizes))["key"], self._key)

    @cached_property
    def _reader(self) -> pq.ParquetFile:
        """For as long as the rows are looked at: making one for each column costs as much as a small column."""
        return self.table.reader()

    def _decoded(self, names: Sequence[str], groups: Sequence[int]) -> pa.Table:
        return self.table.decoded(self._reader, names, groups)

    def encoded_bytes(self, names: Sequence[str]) -> int:
        """How long these columns are in the file."""
        metadata, at = self._footer.metadata, [self._footer.names[name] for name in names if name in self._footer.names]
        return sum(metadata.row_group(group).column(one).total_compressed_size for group in self._sizes for one in at)

    def _constant(self, name: str, groups: Sequence[int]) -> int | None:
        """The one number that a column has in all of these row groups."""
        said = {self.table.bounds(name, group) for group in groups}
        only = said.pop() if len(said) == 1 else None
        return None if only is None or only[0] != only[1] else only[0]

    def read(self, schema: pa.Schema, names: Sequence[str], groups: Sequence[int] | None = None) -> dict[str, Any]:
        """These columns, those of lists as Arrow has them; empty where the table has no row of the queue.

        Args:
            schema: the types of the columns.
            names: which of them.
            groups: only these row groups, which hold nothing but the queue.
        """
        missing = [name for name in names if name not in self._footer.names]
        if missing:
            raise HistoryError(f"{self.table.path}: no column {missing[0]}; it was written by another version")
        asked = list(self._sizes) if groups is None else groups
        if not asked:
            return {}
        size = sum(self._sizes[group] for group in asked)
        found = {name: self._constant(name, asked) for name in names}
        encoded = [name for name in names if found[name] is None]
        table = self._decoded(encoded, asked) if encoded else None
        own = self._own if self._mixed and groups is None else None
        if own is not None:
            table, size = None if table is None else table.filter(own), pc.sum(own).as_py() or 0
        out: dict[str, Column] = {}
        for name in names:
            if table is not None and found[name] is None:
                kind = schema.field(name).type
                if table[name].null_count and not pa.types.is_dictionary(kind):
                    raise HistoryError(f"{self.table.path}: column {name} has empty cells; {remedy(self.table.path)}")
                out[name] = _lists(table[name].chunks, kind) if nested(kind) else _column(table[name].chunks, kind)
            else:
                out[name] = np.full(size, found[name], dtype=schema.field(name).type.to_pandas_dtype())
        return out

    def holding(self, wanted: Mapping[str, int]) -> list[int] | None:
        """The row groups whose every row has these values, if no other row of the queue has; None if that is open."""
        if self._mixed:
            return None
        out = []
        for group in self._sizes:
            said = [(self.table.bounds(name, group), value) for name, value in wanted.items()]
            if all(bounds == (value, value) for bounds, value in said):
                out.append(group)
            elif not any(bounds is not None and not bounds[0] <= value <= bounds[1] for bounds, value in said):
                return None
        return out

    def places(self) -> list[tuple[int, int]] | None:
        """The row groups and how many rows of the queue each holds; None where they hold others' rows."""
        return None if self._mixed else list(self._sizes.items())


class _Held(NamedTuple):
    """A row group among all of a queue: its table, its number there, its first row and how many rows."""

    part: _Part
    group: int
    start: int
    size: int

    @property
    def end(self) -> int:
        """The row behind its last."""
        return self.start + self.size


def _empty(kind: pa.DataType) -> Column:
    return np.zeros(0, dtype=object if pa.types.is_dictionary(kind) else kind.to_pandas_dtype())


def nested(kind: pa.DataType) -> bool:
    """Whether a column holds lists."""
    return bool(pa.types.is_nested(kind))


def _lists(chunks: list[pa.Array], kind: pa.DataType) -> pa.Array:
    """A column of lists, which become Python's only when somebody asks for them."""
    return pa.concat_arrays(chunks) if chunks else pa.array([], kind)


def _column(chunks: list[pa.Array], kind: pa.DataType) -> Column:
    """One column of a table; texts are None where there is none."""
    arrays: list[Column] = []
    for chunk in chunks:
        if pa.types.is_dictionary(chunk.type) and chunk.null_count == len(chunk):
            arrays.append(np.full(len(chunk), None, dtype=object))
        else:
            arrays.append(_array(chunk))
    return arrays[0] if len(arrays) == 1 else np.concatenate([_empty(kind), *arrays])


def _array(chunk: pa.Array) -> Column:
    """A chunk as an array; not by ``to_numpy``, which loads pandas and so takes longer than a small run's verdict."""
    if pa.types.is_nested(chunk.type):
        return np.fromiter(chunk.to_pylist(), dtype=object, count=len(chunk))
    if pa.types.is_dictionary(chunk.type):
        words = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        codes, there = chunk.indices, np.from_dlpack(chunk.is_valid().cast(pa.uint8()))
        stored = np.frombuffer(codes.buffers()[1], dtype=codes.type.to_pandas_dtype())[codes.offset :][: len(codes)]
        told: Column = words[np.where(there == 1, stored, len(words) - 1)]
        return told
    if pa.types.is_string(chunk.type):
        return np.array(chunk.to_pylist(), dtype=object)
    if pa.types.is_boolean(chunk.type):
        return np.from_dlpack(chunk.cast(pa.uint8())).astype(np.bool_)
    return np.from_dlpack(chunk)


class Lists(NamedTuple):
    """A column of lists: all of their numbers one behind the other, and where each list begins, with the end of all."""

    values: Ints
    starts: Ints

    @property
    def sizes(self) -> Ints:
        """How long each list is."""
        return np.diff(self.starts)

    def of(self, places: Ints) -> "Lists":
        """The lists of some rows, in this order."""
        sizes = self.sizes[places]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        return Lists(self.values[np.arange(starts[-1]) + np.repeat(self.starts[places] - starts[:-1], sizes)], starts)


class Columns(Mapping[str, Column]):
    """Columns of equal length by name, of which a part may be asked for: here of such as are at hand whole."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._ready = dict(columns)

    def __getitem__(self, name: str) -> Column:
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ready)

    def __len__(self) -> int:
        return len(self._ready)

    def lists(self, name: str) -> Lists:
        """A column of lists of numbers."""
        told = [np.asarray(one, dtype=np.int64) for one in self[name]]
        starts = np.concatenate(([0], np.cumsum([len(one) for one in told], dtype=np.int64)))
        return Lists(np.concatenate([np.zeros(0, dtype=np.int64), *told]), starts)

    def at(self, name: str, places: Ints) -> Column:
        """A column in some rows."""
        return self[name][places]

    def none_above(self, name: str, places: Ints, limit: int) -> bool:
        """Whether a number is nowhere above a limit in some rows."""
        return bool((self.at(name, places) <= limit).all())

    def only(self, wanted: Mapping[str, int], names: Sequence[str]) -> dict[str, Column] | None:  # noqa: ARG002
        """Some columns of the rows that have these values, if they are kept by themselves; None if they are not."""
        return None

    def alike(self, one: Mapping[str, int], other: Mapping[str, int], names: Sequence[str]) -> bool:  # noqa: ARG002
        """Whether rows that are kept by themselves are surely the same in some columns; False where that is open."""
        return False


class Rows(Columns):
    """The columns of one queue's rows by name, of equal length, in the wanted order.

    Args:
        tables: one per worker.
        schema: the columns there are.
        key: the queue.
        order: what order the rows of these columns have to be put in; None if it is that of the tables. It is asked
            when the first whole column is.

    Raises:
        HistoryError: a table is damaged or of another version.
    """

    def __init__(self, tables: Sequence[Table], schema: pa.Schema, key: int, order: Order) -> None:
        super().__init__({})
        self._schema = schema
        self._parts = [_Part(table, key) for table in tables]
        self._far = any(table.far for table in tables)
        self._nested: dict[str, pa.Array] = {}
        self._ask_order: Order | None = order
        self._order: Ints | None = None

    def _read(self, names: Sequence[str]) -> None:
        read = of_each(lambda part: part.read(self._schema, names), self._parts, far=self._far)
        found = [columns for columns in read if columns]
        for name in names:
            pieces = [columns[name] for columns in found]
            if nested(self._schema.field(name).type):
                lists = _lists(pieces, self._schema.field(name).type)
                self._nested[name] = lists if self._order is None else lists.take(pa.array(self._order))
                continue
            column = pieces[0] if len(pieces) == 1 else np.concatenate([_empty(self._schema.field(name).type), *pieces])
            self._ready[name] = column if self._order is None else column[self._order]

    def _along(self, name: str) -> list[str]:
        """A column, and with it all that were not read yet where asking for it alone takes as long."""
        rest = [other for other in self._schema.names if not self._known(other)]
        near = self._far and sum(part.encoded_bytes(rest) for part in self._parts) <= AHEAD_BYTES * len(self._parts)
        return rest if near else [self._schema.field(name).name]

    def read_all(self) -> None:
        """Decode every column at once, which is faster than one by one."""
        self._read([name for name in self._schema.names if not self._known(name)])

    def _known(self, name: str) -> bool:
        """Whether a whole column is decoded."""
        return name in self._ready or name in self._nested

    def _put_in_order(self) -> None:
        """Find the order, once, and put what is decoded into it."""
        if self._ask_order is not None:
            ask, self._ask_order = self._ask_order, None
            self._order = ask(self)
            if self._order is not None:
                places = pa.array(self._order)
                self._ready = {known: column[self._order] for known, column in self._ready.items()}
                self._nested = {known: lists.take(places) for known, lists in self._nested.items()}

    def __getitem__(self, name: str) -> Column:
        self._put_in_order()
        if not self._known(name):
            self._read(self._along(name))
        if name not in self._ready:
            self._ready[name] = _array(self._nested[name])
        return self._ready[name]

    def lists(self, name: str) -> Lists:
        """No list of Python is made."""
        self._put_in_order()
        if not self._known(name):
            self._read(self._along(name))
        column = self._nested[name]
        starts = np.from_dlpack(column.offsets).astype(np.int64)
        return Lists(np.from_dlpack(column.flatten()).astype(np.int64, copy=False), starts - starts[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.names)

    def __len__(self) -> int:
        return len(self._schema.names)

    def _held(self, places: Ints) -> tuple[list[_Held], Ints] | None:
        """The row groups in order, and which of them holds each of these rows; None where that is not known."""
        if self._ask_order is not None or self._order is not None:
            return None
        held: list[_Held] = []
        for part in self._parts:
            own = part.places()
            if own is None:
                return None
            for group, size in own:
                held.append(_Held(part, group, held[-1].end if held else 0, size))
        return held, np.searchsorted([one.end for one in held], places, side="right")

    def at(self, name: str, places: Ints) -> Column:
        """Of the tables only these rows' groups are decoded, where that is less than half."""
        if not len(places):
            return _empty(self._schema.field(name).type)
        known = None if self._known(name) else self._held(places)
        if known is None:
            return self[name][places]
        held, where = known
        touched = distinct(where).tolist()
        if 2 * sum(held[one].size for one in touched) > held[-1].end:
            return self[name][places]
        out = np.empty(len(places), dtype=_empty(self._schema.field(name).type).dtype)
        for one in touched:
            part, group, start, _ = held[one]
            own = where == one
            read = part.read(self._schema, [name], [group])[name]
            out[own] = (_array(read) if isinstance(read, pa.Array) else read)[places[own] - start]
        return out

    def none_above(self, name: str, places: Ints, limit: int) -> bool:
        """Nothing is decoded where the tables say so."""
        known = None if self._known(name) else self._held(places)
        if known is not None:
            held, where = known
            said = [held[one].part.table.bounds(name, held[one].group) for one in distinct(where).tolist()]
            if all(bounds is not None and bounds[1] <= limit for bounds in said):
                return True
        return super().none_above(name, places, limit)

    def _apart(self, wanted: Mapping[str, int], names: Sequence[str]) -> tuple[_Part, list[int]] | None:
        """The row groups of one table that together hold just the rows with these values, if there are such.

        None also where whole columns are decoded already.
        """
        if any(self._known(name) for name in names):
            return None
        held = [(part, part.holding(wanted)) for part in self._parts]
        found = [(part, groups) for part, groups in held if groups]
        return found[0] if len(found) == 1 and all(groups is not None for _, groups in held) else None

    def only(self, wanted: Mapping[str, int], names: Sequence[str]) -> dict[str, Column] | None:
        """In the order of the table; None also where whole columns are decoded already."""
        found = self._apart(wanted, names)
        if found is None:
            return None
        read = found[0].read(self._schema, names, found[1])
        return {name: _array(column) if isinstance(column, pa.Array) else column for name, column in read.items()}

    def alike(self, one: Mapping[str, int], other: Mapping[str, int], names: Sequence[str]) -> bool:
        """By how they are packed: nothing is decoded."""
        left, right = self._apart(one, names), self._apart(other, names)
        if left is None or right is None:
            return False
        ours, others = (
            [part.table.encoded(name, group) for group in groups for name in names] for part, groups in (left, right)
        )
        return ours == others
