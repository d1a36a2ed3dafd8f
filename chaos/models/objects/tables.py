"""From the streams of objects' operations to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from chaos.core.model import ModelTables
from chaos.models.objects.answers import TOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.core.model import Column, Slots
    from chaos.core.op import Word


class RegisterTables(ModelTables):
    """The columns of a register's operations."""

    columns = pa.schema(
        [
            ("value", pa.int64()),  # write, cas: what is to be written; else 0
            ("expected", pa.int64()),  # cas: where this is; else 0
            ("found", pa.int64()),  # read: what it found where ``answer`` is 1; else 0
            ("answer", pa.int8()),  # read: 1 it found a value, 0 nothing is there; -1 it was told nothing
        ]
    )

    def __init__(self, *, read: Word, cas: Word) -> None:
        self._read, self._cas = read, cas

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        writes = slots.f != self._read
        return {
            "value": np.where(writes, slots.asked_first, 0),
            "expected": np.where(slots.f == self._cas, slots.asked_second, 0),
            **_found(slots, self._read),
        }


class CounterTables(ModelTables):
    """The columns of a counter's operations."""

    columns = pa.schema(
        [
            ("amount", pa.int64()),  # add: how much; else 0
            ("found", pa.int64()),  # read: the sum that it found where ``answer`` is 1; else 0
            ("answer", pa.int8()),  # read: 1 it found a sum, 0 nothing is there; -1 it was told nothing
        ]
    )

    def __init__(self, *, read: Word, add: Word) -> None:
        self._read, self._add = read, add

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        adds = slots.f == self._add
        return {"amount": np.where(adds, slots.asked_first, 0), **_found(slots, self._read)}


class SetTables(ModelTables):
    """The columns of a set's operations."""

    columns = pa.schema(
        [
            ("element", pa.int64()),  # add: what; else 0
            ("elements", pa.list_(pa.int64())),  # read: what it returned, in that order; else empty
            ("answer", pa.int8()),  # read: 1 it returned ``elements``; -1 it was told nothing
        ]
    )

    def __init__(self, *, add: Word) -> None:
        self._add = add

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        return {
            "element": np.where(slots.f == self._add, slots.asked_first, 0),
            "elements": number_lists(slots.result_values, len(slots.f)),
            "answer": slots.second.astype(np.int8),
        }


def number_lists(values: Sequence[bytes | None] | None, size: int) -> pa.Array:
    """A list for each operation: the numbers of 64 bits that it stored; empty if it stored none."""
    returned = [one or b"" for one in values or [None] * size]
    ends = np.cumsum([0, *(len(one) // 8 for one in returned)])
    elements = np.frombuffer(b"".join(returned), dtype="<i8")
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(elements, pa.int64()))


def _found(slots: Slots, read: int) -> dict[str, Column]:
    """What reads of a number found."""
    answer = np.where(slots.f == read, slots.second, -1).astype(np.int8)
    return {"found": np.where(answer == TOLD, slots.first, 0), "answer": answer}
