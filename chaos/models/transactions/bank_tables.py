"""From the streams of a bank's operations to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from chaos.core.model import ModelTables
from chaos.models.objects.tables import number_lists

if TYPE_CHECKING:
    from chaos.core.model import Column, Slots
    from chaos.core.op import Word


class BankTables(ModelTables):
    """The columns of a bank's operations."""

    columns = pa.schema(
        [
            ("source", pa.int64()),  # transfer: from which account; else 0
            ("target", pa.int64()),  # transfer: to which one; else 0
            ("amount", pa.int64()),  # transfer: how much; else 0
            ("balances", pa.list_(pa.int64())),  # read: the balance of each account; else empty
            ("answer", pa.int8()),  # read: 1 it returned ``balances``; -1 it was told nothing
        ]
    )

    def __init__(self, *, transfer: Word) -> None:
        self._transfer = transfer

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        moves = slots.f == self._transfer
        return {
            "source": np.where(moves, slots.asked_first, 0),
            "target": np.where(moves, slots.asked_second, 0),
            "amount": np.where(moves, slots.small, 0).astype(np.int64),
            "balances": number_lists(slots.result_values, len(slots.f)),
            "answer": slots.second.astype(np.int8),
        }
