"""How operations on a log are stored and read back: slots and rows only, no values beside.

A record that a read returned is a row of 32 bytes. The columns of the tables are in docs/reference/history.md.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaos.core.model import Column, PackedArgument, PackedResult, RowFormat, Slots
from chaos.core.op import Type
from chaos.models.log.operations import FUNCTIONS, Given
from chaos.models.log.words import SENDS, VALUED, F, Record

NONE: Final = -1
NO_WRITER: Final = 0xFFFFFFFF
ATTEMPT_SHIFT: Final = 16
"""The flags of a row hold the attempt above this bit."""
FLAG_DAMAGED: Final = 1

# crc, op, offset, writer, flags, sequence
READ: Final = struct.Struct("<IIqiIq")
READ_SIZE: Final = 32
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


def _row(record: Record) -> tuple[int, int, int, int]:
    flags = min(record.attempt, 0xFFFF) << ATTEMPT_SHIFT
    if record.value is None:
        return record.offset, NONE, flags | FLAG_DAMAGED, NONE
    return record.offset, record.value.writer, flags, record.value.sequence


def _nothing(_: Any) -> PackedArgument:
    return PackedArgument(NO_WRITER, NONE, 0)


_ARGUMENTS: Final[Mapping[F, Callable[[Any], PackedArgument]]] = {
    F.SEND: lambda send: PackedArgument(send.value.writer, send.value.sequence, 0),
    F.SCHEDULE: lambda send: PackedArgument(send.value.writer, send.value.sequence, send.not_before_ns),
    F.TRANSACT: lambda send: PackedArgument(send.value.writer, send.value.sequence, send.decision),
    F.POLL: lambda read: PackedArgument(NO_WRITER, read.offset, 0),
    F.READ: lambda read: PackedArgument(NO_WRITER, read.offset, 0),
    F.SLAVE_READ: lambda read: PackedArgument(NO_WRITER, read.offset, 0),
    F.DRAIN: _nothing,
    F.COMMIT: lambda commit: PackedArgument(NO_WRITER, commit.offset, 0),
    F.COMMITTED_READ: _nothing,
    F.REPLICA: lambda copy: PackedArgument(NO_WRITER, NONE, copy.node),
    F.POP: lambda pop: PackedArgument(NO_WRITER, NONE, pop.invisible_ns),
    F.ACK: lambda ack: PackedArgument(ack.value.writer, ack.value.sequence, 0),
    F.EXTEND: lambda extend: PackedArgument(extend.value.writer, extend.value.sequence, extend.invisible_ns),
}
_NO_RESULT: Final = PackedResult(NONE, NONE, NONE)


def _known(number: int | None) -> int:
    return NONE if number is None else number


class LogModel:
    """Queues to which values are appended; implements ``chaos.core.model.Model``."""

    name = "log"
    words = F
    functions = FUNCTIONS
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
    rows = RowFormat(
        READ,
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
    stores_values = False

    def pack_argument(self, f: F, argument: Any) -> PackedArgument:
        """Writer, sequence number or offset, and the number beside."""
        return _ARGUMENTS[f](argument)

    def pack_result(self, f: F, result: Any) -> PackedResult:  # noqa: ARG002 - the result says it
        """Offsets, and a row for each record."""
        if result is None:
            return _NO_RESULT
        if isinstance(result, Given):
            return PackedResult(
                _known(result.next_offset),
                _known(result.min_offset),
                _known(result.max_offset),
                [_row(record) for record in result.records],
            )
        return PackedResult(_known(result.offset), NONE, NONE)

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

    def line(self, row: Mapping[str, Any]) -> str:
        """Value and offset of what was written, range and count of what was read."""
        f, offset, after = F(row["f"]), row["offset"], row["next_offset"]
        if f in VALUED:
            hint = "" if row["type"] == Type.OK else "?"
            return f"{f.word} {row['writer']}:{row['sequence']}" + (f" -> {offset}{hint}" if offset >= 0 else "")
        if f is F.COMMIT:
            return f"{f.word} {offset}"
        if f is F.COMMITTED_READ:
            return f"{f.word} -> {after if after >= 0 else 'none'}"
        begin = offset if offset >= 0 else row["min_offset"]
        span = f"[{begin if begin >= 0 else '?'}, {after if after >= 0 else '?'})"
        end = f" of {row['max_offset']}" if row["max_offset"] >= 0 else ""
        return f"{f.word} {span}{end}  {row['count']} read"


LOG: Final = LogModel()
