"""From the streams of a log's operations to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaos.core.model import RowFormat
from chaos.models.log.layout import ATTEMPT_SHIFT, FLAG_DAMAGED, NONE, READ_SIZE
from chaos.models.log.words import SENDS, VALUED

if TYPE_CHECKING:
    from chaos.core.model import Column, Slots

_READ: Final = np.dtype(
    [
        ("crc", "<u4"),
        ("op", "<u4"),
        ("offset", "<i8"),
        ("writer", "<i4"),
        ("flags", "<u4"),
        ("sequence", "<i8"),
    ]
)
assert _READ.itemsize == READ_SIZE

_VALUED: Final = tuple(map(int, VALUED))
_SENDS: Final = tuple(map(int, SENDS))


def _unpack_rows(rows: npt.NDArray[np.void]) -> dict[str, Column]:
    damaged = (rows["flags"] & FLAG_DAMAGED) != 0
    return {
        "offset": rows["offset"],
        "writer": np.where(damaged, NONE, rows["writer"]),
        "sequence": np.where(damaged, NONE, rows["sequence"]),
        "attempt": np.minimum(rows["flags"] >> ATTEMPT_SHIFT, np.iinfo(np.int16).max).astype(np.int16),
    }


class LogTables:
    """Implements ``chaos.core.model.ModelTables``."""

    columns = pa.schema(
        [
            ("writer", pa.int32()),  # sends, acks, extends: the value; -1 for all others
            ("sequence", pa.int64()),
            ("offset", pa.int64()),  # sends: the offset answered (a hint unless ok); reads: where it began; commits:
            # what is committed; acks, extends: of what was popped
            ("next_offset", pa.int64()),  # reads: the offset after the last one covered; committed-reads: the answer
            ("min_offset", pa.int64()),
            ("max_offset", pa.int64()),
            ("count", pa.int32()),  # reads: records returned
            ("argument", pa.int64()),  # the time, decision or node that some words have beside
        ]
    )
    rows: RowFormat | None = RowFormat(
        _READ,
        pa.schema(
            [
                ("offset", pa.int64()),
                ("writer", pa.int32()),  # -1: the body was not one of ours or was damaged
                ("sequence", pa.int64()),
                ("attempt", pa.int16()),  # how often it was given away, as the broker counts, from 1; 0: it does not
            ]
        ),
        _unpack_rows,
    )

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        valued = np.isin(slots.f, _VALUED)
        return {
            "writer": np.where(valued, slots.small, NONE).astype(np.int32),
            "sequence": np.where(valued, slots.asked_first, NONE),
            "offset": np.where(valued, slots.first, slots.asked_first),
            "next_offset": np.where(valued, NONE, slots.first),
            "min_offset": slots.second,
            "max_offset": slots.third,
            "count": np.where(valued, 0, slots.rows).astype(np.int32),
            "argument": slots.asked_second,
        }

    def last_sequences(self, slots: Slots) -> dict[int, int]:
        """Of each writer the highest sequence number that it tried to send."""
        sends = np.isin(slots.f, _SENDS)
        writer, sequence = slots.small[sends], slots.asked_first[sends]
        return {int(one): int(sequence[writer == one].max()) for one in np.unique(writer)}


TABLES: Final = LogTables()
