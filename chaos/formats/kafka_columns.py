"""A Kafka-style history as columns: what a log's checker looks at, whatever notation it was written in.

Two tables. ``ops`` has one row per record of the file, in the order of its index: invocations and completions, not
paired (``partners`` finds the pairs). ``mops`` has one row per message or key that a record names, in the order
of the record's text; rows of one record are neighbours. A poll that returned three messages of two keys is three rows.
Columns are NumPy arrays, so two chunks of a file are one history after ``concatenate``.

Does not interpret: a strange answer (a nil offset, a value that was never sent) is a row like any other.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from chaos.core.op import Type

T = TypeVar("T", bound=np.generic)
Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int8]
Typed = tuple[type, Hashable]  # 1, 1.0 and true are three things, whatever Python holds
Ids = npt.NDArray[np.int32]

NONE: Final = int(np.iinfo(np.int64).min)
"""In ``value`` and ``offset``: nil, or not said at all. In ``time_ns`` and ``index``: the file has none."""
INTERNED: Final = NONE + (1 << 40)
"""A value below this is not an integer of the history but ``NONE + 1 + position in KafkaColumns.values``."""
NO_PROCESS: Final = -1
"""The process of a record that no client made (a nemesis, say). Such a record has no rows in ``mops``."""
NO_KEY: Final = -1


class KafkaF(IntEnum):
    """What a record is about. The numbers are those of ``Ops.f``."""

    OTHER = 0
    SEND = 1
    POLL = 2
    TXN = 3
    ASSIGN = 4
    SUBSCRIBE = 5
    CRASH = 6
    DEBUG = 7  # debug-topic-partitions

    @property
    def word(self) -> str:
        """The word of the history."""
        return "debug-topic-partitions" if self is KafkaF.DEBUG else self.name.lower()


class Mop(IntEnum):
    """What a row of ``mops`` stands for. The numbers are those of ``Mops.kind``."""

    SEND = 1  # [:send k v], or [:send k [offset v]] of a completion
    POLLED = 2  # one message of a poll
    EMPTY = 3  # a poll that returned the key k without a message: {k []}
    NOTHING = 4  # a poll that returned no key at all: {}; without key. [:poll] of an invocation has no row
    KEY = 5  # one key of an assign or a subscribe
    REBALANCED = 6  # one key of the record's :rebalance-log


SEEK_TO_BEGINNING: Final = 1
"""Bit of ``Ops.flags``: an assign with ``:seek-to-beginning? true``."""


@dataclass(frozen=True, slots=True, eq=False)
class Ops:
    """One row per record, ascending by index."""

    index: Ints
    """The record's number: ``:index``, or the position in the file where any record has none."""
    time_ns: Ints
    """Since the test began; ``NONE`` if not said. For latencies only: the order is that of the rows."""
    type: Small
    """``chaos.core.op.Type``: INVOKE, OK, FAIL, INFO."""
    process: Ints
    """The client's process, ``NO_PROCESS`` of any other."""
    f: Small
    """``KafkaF``."""
    flags: Small


@dataclass(frozen=True, slots=True, eq=False)
class Mops:
    """One row per message or key that a record names."""

    op: Ints
    """Row of ``Ops``; ascending."""
    kind: Small
    """``Mop``."""
    mop: Ids
    """Which micro-operation of the record, from 0; the messages of one poll share it. 0 for KEY and REBALANCED."""
    key: Ids
    """Position in ``KafkaColumns.keys``; ``NO_KEY`` only for NOTHING."""
    value: Ints
    """The integer itself, an interned value (below ``INTERNED``), or ``NONE``."""
    offset: Ints
    """What the broker answered, ``NONE`` for nil and for a send whose record says no offset."""


@dataclass(frozen=True, slots=True, eq=False)
class KafkaColumns:
    """A whole history, or a part of one.

    ``keys``: what key ids stand for (integers, strings, keywords), each once. ``values``: the values that are not
    integers of 64 bits, each once. Equal numbers in ``mops.value`` are equal values, and nothing else is.
    """

    ops: Ops
    mops: Mops
    keys: tuple[Hashable, ...]
    values: tuple[Hashable, ...]

    def value_of(self, number: int) -> Hashable:
        """What a number of ``mops.value`` stands for; None for ``NONE``."""
        return value_of(number, self.values)


def interned_number(position: int) -> int:
    """The number in ``mops.value`` of the value at a position of ``KafkaColumns.values``."""
    return NONE + 1 + position


def value_of(number: int, values: Sequence[Hashable]) -> Hashable:
    """What a number in a column of values stands for: an integer, None for ``NONE``, or an interned value."""
    if number >= INTERNED:
        return int(number)
    return None if number == NONE else values[number - NONE - 1]


def remap(numbers: Ints, value_map: Ints) -> Ints:
    """A column of values in which each interned one is replaced: ``value_map[i]`` for that at position i."""
    if not len(value_map):
        return numbers
    foreign = (numbers < INTERNED) & (numbers != NONE)
    found = numbers.copy()
    found[foreign] = value_map[numbers[foreign] - interned_number(0)]
    return found


def narrow(process: Ints) -> npt.NDArray[np.integer[Any]]:
    """Processes in as few bytes as keep them apart, ``NO_PROCESS`` as the highest number of these."""
    least, most = (int(process.min()), int(process.max())) if len(process) else (0, 0)
    for small in (np.uint8, np.uint16):
        if least >= NO_PROCESS and most < np.iinfo(small).max:
            return process.astype(small)
    return process


def partners(ops: Ops) -> Ints:
    """For each row of ``ops`` the row of its other half: completion of an invocation, invocation of a completion.

    A process has one operation under way: an invocation's completion is the next record of its process unless that
    is another invocation. -1: none (an operation still open at the end, a completion nobody invoked, no client).
    """
    found = np.full(len(ops.process), -1, dtype=np.int64)
    process = narrow(ops.process)
    order = np.argsort(process, kind="stable")  # by radix, if they are narrow
    nobody = np.array([NO_PROCESS]).astype(process.dtype)
    process, invoked = process[order], (ops.type == Type.INVOKE)[order]
    same = (process[1:] == process[:-1]) & (process[1:] != nobody)
    pair = np.flatnonzero(same & invoked[:-1] & ~invoked[1:])
    first, second = order[pair], order[pair + 1]
    found[first], found[second] = second, first
    return found


def _joined(dtype: type[T], arrays: Sequence[npt.NDArray[T]]) -> npt.NDArray[T]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)


def concatenate(parts: Sequence[KafkaColumns]) -> KafkaColumns:
    """The parts of one file, in its order, as one; keys and values are numbered anew, by first appearance."""
    keys: dict[Typed, int] = {}
    values: dict[Typed, int] = {}
    key_columns, value_columns, op_columns = [], [], []
    base = 0
    for part in parts:
        key_map = np.array(
            [*(keys.setdefault((type(key), key), len(keys)) for key in part.keys), NO_KEY], dtype=np.int32
        )
        key_columns.append(key_map[part.mops.key])  # NO_KEY is -1, the map's last
        value_map = np.array(
            [interned_number(values.setdefault((type(v), v), len(values))) for v in part.values], dtype=np.int64
        )
        value_columns.append(remap(part.mops.value, value_map))
        op_columns.append(part.mops.op + base)
        base += len(part.ops.index)

    ops = Ops(
        index=_joined(np.int64, [p.ops.index for p in parts]),
        time_ns=_joined(np.int64, [p.ops.time_ns for p in parts]),
        type=_joined(np.int8, [p.ops.type for p in parts]),
        process=_joined(np.int64, [p.ops.process for p in parts]),
        f=_joined(np.int8, [p.ops.f for p in parts]),
        flags=_joined(np.int8, [p.ops.flags for p in parts]),
    )
    mops = Mops(
        op=_joined(np.int64, op_columns),
        kind=_joined(np.int8, [p.mops.kind for p in parts]),
        mop=_joined(np.int32, [p.mops.mop for p in parts]),
        key=_joined(np.int32, key_columns),
        value=_joined(np.int64, value_columns),
        offset=_joined(np.int64, [p.mops.offset for p in parts]),
    )
    return KafkaColumns(
        ops=ops, mops=mops, keys=tuple(key for _, key in keys), values=tuple(value for _, value in values)
    )


def number_by_appearance(columns: KafkaColumns) -> KafkaColumns:
    """The same history with keys and values numbered by their first appearance in ``mops``; others have no number.

    Chunks number by what is read fast and what is not, so that ids would tell how a file was cut.
    """
    mops = columns.mops
    key_order, key_map = by_appearance(mops.key[mops.key != NO_KEY], len(columns.keys))
    key = mops.key if np.array_equal(key_map[:-1], np.arange(len(columns.keys))) else key_map[mops.key]
    value, value_order = mops.value, np.empty(0, dtype=np.int64)
    if columns.values:
        foreign = (value < INTERNED) & (value != NONE)
        position = value[foreign] - interned_number(0)
        value_order, value_map = by_appearance(position, len(columns.values))
        value = value.copy()
        value[foreign] = value_map[position].astype(np.int64) + interned_number(0)
    return KafkaColumns(
        columns.ops,
        Mops(mops.op, mops.kind, mops.mop, key, value, mops.offset),
        tuple(columns.keys[at] for at in key_order.tolist()),
        tuple(columns.values[at] for at in value_order.tolist()),
    )


def by_appearance(ids: npt.NDArray[np.signedinteger[Any]], size: int) -> tuple[Ints, Ids]:
    """The ids below ``size`` that appear, in order of their first appearance; and each id's place in it, last -1."""
    first = np.full(size, len(ids), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]  # the last assignment to a place holds
    order = np.argsort(first, kind="stable")[: int((first < len(ids)).sum())]
    places = np.full(size + 1, -1, dtype=np.int32)
    places[order] = np.arange(len(order))
    return order, places


def reorder(columns: KafkaColumns, order: Ints) -> KafkaColumns:
    """The same records in another order: ``order[i]`` is the row of ``ops`` that comes to stand at i; others go."""
    ops, mops = columns.ops, columns.mops
    place = np.full(len(ops.index), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    ops = Ops(ops.index[order], ops.time_ns[order], ops.type[order], ops.process[order], ops.f[order], ops.flags[order])
    moved = place[mops.op]
    rows = np.argsort(moved, kind="stable")
    rows = rows[moved[rows] >= 0]
    mops = Mops(moved[rows], mops.kind[rows], mops.mop[rows], mops.key[rows], mops.value[rows], mops.offset[rows])
    return KafkaColumns(ops, mops, columns.keys, columns.values)
