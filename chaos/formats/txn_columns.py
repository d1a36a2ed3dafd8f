"""A history of transactions as columns: what was asked and what came back, whatever notation it was written in.

Three tables. ``ops`` has one row per record of the file, in the order of its index: invocations and completions, not
paired (``kafka_columns.partners`` finds the pairs). ``micros`` has one row per micro-operation, in the order of the
record's text. ``elements`` are the lists that were read, one after the other. Nothing is judged here: a read of a
value that no transaction wrote is a row as well.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chaos.basics.variable_lengths import offsets, spread
from chaos.formats.kafka_columns import Ids, Ints, Ops, Small, by_appearance, interned_number, remap, value_of

Mask = npt.NDArray[np.bool_]

NO_LIST: Final = -1
SAID: Final = 1
"""Bit of ``Ops.flags``: the record's value is a list of micro-operations, be it an empty one."""


class MicroKind(IntEnum):
    """What a micro-operation does. The numbers are those of ``Micros.kind``."""

    READ = 0  # [:r k v]
    APPEND = 1  # [:append k v]
    WRITE = 2  # [:w k v]

    @property
    def word(self) -> str:
        """The word of histories."""
        return ("r", "append", "w")[self]


@dataclass(frozen=True, slots=True, eq=False)
class Micros:
    """One row per micro-operation."""

    op: Ints
    """Row of ``Ops``; ascending."""
    kind: Small
    """``MicroKind``."""
    key: Ids
    """Position in ``TxnColumns.keys``."""
    value: Ints
    """The integer itself, an interned value (below ``INTERNED``), or ``NONE`` for nil and for a list."""
    length: Ids
    """How many of ``elements`` it read; ``NO_LIST`` if its value is no list."""

    def only(self, rows: Ints) -> "Micros":
        """Some rows."""
        return Micros(self.op[rows], self.kind[rows], self.key[rows], self.value[rows], self.length[rows])


@dataclass(frozen=True, slots=True, eq=False)
class TxnColumns:
    """A whole history, or a part of one.

    ``ops.f`` is a position in ``words``. ``elements``: numbers as those of ``micros.value``, the lists of all reads one
    after the other. ``keys``, ``values``: what ids and interned numbers stand for, each once.
    """

    ops: Ops
    micros: Micros
    elements: Ints
    keys: tuple[Hashable, ...]
    values: tuple[Hashable, ...]
    words: tuple[str, ...]

    def value_of(self, number: int) -> Hashable:
        """What a number of ``micros.value`` or ``elements`` stands for; None for ``NONE``."""
        return value_of(number, self.values)


def typed_value(value: Any) -> Hashable:
    """A value that equals another one's only if both are the same: 1, 1.0 and true are three things."""
    if isinstance(value, tuple):
        return tuple, tuple(map(typed_value, value))
    return type(value), value


class Table:
    """Things of one record after the other, or of several parts, numbered by first appearance."""

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}
        self.shown: list[Any] = []

    def of(self, one: Any) -> int:
        """The number of a thing."""
        key = one if type(one) is int else typed_value(one)
        found = self.ids.get(key)
        if found is None:
            found = self.ids[key] = len(self.shown)
            self.shown.append(one)
        return found


def concatenate(parts: Sequence[TxnColumns]) -> TxnColumns:
    """The parts of one file, in its order, as one; keys, values and words are numbered anew, by first appearance."""
    if not parts:
        return EMPTY
    keys, values, words = Table(), Table(), Table()
    op, key, f, value, elements = [], [], [], [], []
    base = 0
    for part in parts:
        micros = part.micros
        value_map = np.array([interned_number(values.of(value)) for value in part.values], dtype=np.int64)
        op.append(micros.op + base)
        key.append(np.array([keys.of(key) for key in part.keys], dtype=np.int32)[micros.key])
        f.append(np.array([words.of(word) for word in part.words], dtype=np.int8)[part.ops.f])
        value.append(remap(micros.value, value_map))
        elements.append(remap(part.elements, value_map))
        base += len(part.ops.index)
    ops = Ops(
        np.concatenate([part.ops.index for part in parts]),
        np.concatenate([part.ops.time_ns for part in parts]),
        np.concatenate([part.ops.type for part in parts]),
        np.concatenate([part.ops.process for part in parts]),
        np.concatenate(f),
        np.concatenate([part.ops.flags for part in parts]),
    )
    kind, length = (np.concatenate([getattr(part.micros, name) for part in parts]) for name in ("kind", "length"))
    micros = Micros(np.concatenate(op), kind, np.concatenate(key), np.concatenate(value), length)
    shown = (tuple(table.shown) for table in (keys, values, words))
    return TxnColumns(ops, micros, np.concatenate(elements), *shown)


def reorder(columns: TxnColumns, order: Ints) -> TxnColumns:
    """The same records in another order: ``order[i]`` is the row of ``ops`` that comes to stand at i; others go."""
    ops, micros = columns.ops, columns.micros
    counts = np.bincount(micros.op, minlength=len(ops.index))
    rows = spread(offsets(counts)[order], counts[order])
    lengths = np.maximum(micros.length, 0).astype(np.int64)
    elements = columns.elements[spread(offsets(lengths)[rows], lengths[rows])]
    own = micros.only(rows)
    op = np.repeat(np.arange(len(order)), counts[order])
    return TxnColumns(
        Ops(*(getattr(ops, name)[order] for name in Ops.__slots__)),
        Micros(op, own.kind, own.key, own.value, own.length),
        elements,
        columns.keys,
        columns.values,
        columns.words,
    )


def number_by_appearance(columns: TxnColumns) -> TxnColumns:
    """The same history with keys numbered by their first appearance; others have no number."""
    micros = columns.micros
    order, places = by_appearance(micros.key, len(columns.keys))
    own = Micros(micros.op, micros.kind, places[micros.key], micros.value, micros.length)
    keys = tuple(columns.keys[at] for at in order.tolist())
    return TxnColumns(columns.ops, own, columns.elements, keys, columns.values, columns.words)


def _empty() -> TxnColumns:
    none, small, ids = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8), np.empty(0, dtype=np.int32)
    return TxnColumns(Ops(none, none, small, none, small, small), Micros(none, small, ids, none, ids), none, (), (), ())


EMPTY: Final = _empty()
"""No records."""
