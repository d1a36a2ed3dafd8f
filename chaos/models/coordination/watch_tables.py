"""From the streams of writes and watches to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from chaos.basics.variable_lengths import offsets
from chaos.core.model import ModelTables
from chaos.models.objects.answers import TOLD

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from chaos.core.model import Column, Ints, Slots
    from chaos.core.op import Word

_LIST = pa.list_(pa.int64())
_CHANGE = ("change_entry", "change_value")
_EVENT = ("batch", "event_revision", "event_entry", "event_value", "previous_revision", "previous_value")


class WatchTables(ModelTables):
    """The columns of writes and watches."""

    columns = pa.schema(
        [
            ("change_entry", _LIST),  # write: the entries that it changes
            ("change_value", _LIST),  # write: to what; -1 deletes
            ("effects", pa.int64()),  # write: bit i: the i-th change did something; else 0
            ("revision", pa.int64()),  # write: at which it took place where ``answer`` is 1; watch: from which on
            ("batch", _LIST),  # watch: of each event in which message it came; -1: it is a read of the session
            ("event_revision", _LIST),
            ("event_entry", _LIST),  # -1: no client of the run has an entry of that name
            ("event_value", _LIST),  # -1 of an entry that was deleted; -2: nobody read it
            # When the entry was changed before; 0: it was not there; -1: the system never says. Of a read the last
            # revision that the server had applied.
            ("previous_revision", _LIST),
            ("previous_value", _LIST),  # to what; -1: it was not there
            ("answer", pa.int8()),  # 1 it was told a revision or events, -1 it was told nothing
        ]
    )

    def __init__(self, *, subscribe: Word, writes: Collection[Word]) -> None:
        self._subscribe, self._writes = subscribe, [*writes]

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        answer = slots.second.astype(np.int8)
        told = answer == TOLD
        return {
            **columns_of(slots.argument_values, len(slots.f), _CHANGE),
            "effects": np.where(told & np.isin(slots.f, self._writes), slots.third, 0),
            "revision": np.where(slots.f == self._subscribe, slots.asked_first, np.where(told, slots.first, 0)),
            **columns_of(slots.result_values, len(slots.f), _EVENT),
            "answer": answer,
        }


def columns_of(values: Sequence[bytes | None] | None, size: int, names: Sequence[str]) -> dict[str, Column]:
    """Rows of numbers that operations stored, as a list a name."""
    every = [one or b"" for one in values or [None] * size]
    counts: Ints = np.array([len(one) // (8 * len(names)) for one in every], dtype=np.int64)
    rows = np.frombuffer(b"".join(every), dtype="<i8").reshape(-1, len(names))
    ends = pa.array(offsets(counts), pa.int32())
    return {
        name: pa.ListArray.from_arrays(ends, pa.array(np.ascontiguousarray(rows[:, place]), pa.int64()))
        for place, name in enumerate(names)
    }
