"""From the streams of queues' operations to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from chaos.core.model import ModelTables
from chaos.models.objects.answers import TOLD

if TYPE_CHECKING:
    from chaos.core.model import Column, Slots
    from chaos.core.op import Word


class TotalQueueTables(ModelTables):
    """The columns of the operations on a queue without offsets."""

    columns = pa.schema(
        [
            ("value", pa.int64()),  # enqueue: what; dequeue: what it was given where ``answer`` is 1; else 0
            ("answer", pa.int8()),  # dequeue: 1 it was given a message, 0 the queue was empty; -1 it was told nothing
            ("again", pa.bool_()),  # dequeue: the system called the message a redelivery
        ]
    )

    def __init__(self, *, enqueue: Word) -> None:
        self._enqueue = enqueue

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        enqueues = slots.f == self._enqueue
        answer = np.where(enqueues, -1, slots.second).astype(np.int8)
        given = answer == TOLD
        return {
            "value": np.where(enqueues, slots.asked_first, np.where(given, slots.first, 0)),
            "answer": answer,
            "again": given & (slots.third == 1),
        }
