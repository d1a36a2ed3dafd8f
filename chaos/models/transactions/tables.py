"""From the streams of transactions to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from chaos.basics.variable_lengths import offsets, spread
from chaos.core.model import ModelTables
from chaos.models.transactions.words import FIELDS, UNTOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.core.model import Column, Ints, Slots

_LIST = pa.list_(pa.int64())


class TransactionTables(ModelTables):
    """The columns of transactions."""

    columns = pa.schema(
        [
            ("does", _LIST),  # of each micro-operation: 0 read, 1 append, 2 write
            ("micro_key", _LIST),  # its key
            ("micro_value", _LIST),  # what it appends or writes; else 0
            ("length", _LIST),  # how many of ``elements`` it read; -1 if it is no read, or nobody was told
            ("elements", _LIST),  # what all reads of the transaction were told, one after the other
        ]
    )

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        asked, asked_count = _numbers(slots.argument_values, len(slots.f))
        told, told_count = _numbers(slots.result_values, len(slots.f))
        micros, counts = asked.reshape(-1, FIELDS), asked_count // FIELDS
        has = np.where(told_count > 0, counts, 0)  # a result begins with a length for each micro-operation
        lengths = np.full(int(counts.sum()), UNTOLD, dtype=np.int64)
        at = spread(offsets(told_count)[:-1], has)
        lengths[spread(offsets(counts)[:-1], has)] = told[at]
        elements = np.delete(told, at)
        return {
            **{name: _lists(micros[:, i], counts) for i, name in enumerate(("does", "micro_key", "micro_value"))},
            "length": _lists(lengths, counts),
            "elements": _lists(elements, told_count - has),
        }


def _numbers(values: Sequence[bytes | None] | None, size: int) -> tuple[Ints, Ints]:
    """All numbers one after the other, and how many each operation has."""
    every = [one or b"" for one in values or [None] * size]
    return np.frombuffer(b"".join(every), dtype="<i8"), np.array([len(one) // 8 for one in every], dtype=np.int64)


def _lists(numbers: Ints, counts: Ints) -> pa.Array:
    ends = pa.array(offsets(counts), pa.int32())
    return pa.ListArray.from_arrays(ends, pa.array(np.ascontiguousarray(numbers), pa.int64()))
