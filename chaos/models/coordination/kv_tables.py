"""From the streams of spaces' operations to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from chaos.core.model import ModelTables
from chaos.models.coordination.watch_tables import columns_of
from chaos.models.objects.answers import TOLD

if TYPE_CHECKING:
    from chaos.core.model import Column, Slots
    from chaos.core.op import Word

_LIST = pa.list_(pa.int64())
_CHANGE = ("change_entry", "change_value", "expected")
_HELD = ("held_entry", "held_value", "held_revision")


class KvTables(ModelTables):
    """The columns of operations on spaces."""

    columns = pa.schema(
        [
            ("change_entry", _LIST),  # the keys that it changes
            ("change_value", _LIST),  # to what; -1 deletes
            ("expected", _LIST),  # the revision at which each must have been written last; 0: not there; -1: any
            ("first", pa.int64()),  # get, range: the first key that is read; else 0
            ("count", pa.int64()),  # get, range: how many; else 0
            ("revision", pa.int64()),  # at which it took place, or which it shows; -1: the system does not tell
            ("effects", pa.int64()),  # of a change: bit i: the i-th did something; -1: the system does not tell; else 0
            ("held_entry", _LIST),  # the keys that it was told are there
            ("held_value", _LIST),
            ("held_revision", _LIST),  # of the last change of each; -1: the system does not tell
            ("answer", pa.int8()),  # 1 it was told something, -1 it was told nothing
        ]
    )

    def __init__(self, *, changes: frozenset[Word]) -> None:
        self._changes = [int(word) for word in changes]

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        answer, reads = slots.second.astype(np.int8), ~np.isin(slots.f, self._changes)
        told = answer == TOLD
        return {
            **columns_of(slots.argument_values, len(slots.f), _CHANGE),
            "first": np.where(reads, slots.asked_first, 0),
            "count": np.where(reads, slots.small, 0),
            "revision": np.where(told, slots.first, -1),
            "effects": np.where(told & ~reads, slots.third, 0),
            **columns_of(slots.result_values, len(slots.f), _HELD),
            "answer": answer,
        }
