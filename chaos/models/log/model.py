"""How operations on a log are stored: slots and rows only, no values beside.

A record that a read returned is a row of 32 bytes. ``chaos.models.log.tables`` reads them back.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from chaos.core.model import ModelTables, PackedArgument, PackedResult
from chaos.core.op import Type, Word
from chaos.models.log.layout import ATTEMPT_SHIFT, FLAG_DAMAGED, NO_WRITER, NONE, READ
from chaos.models.log.operations import FUNCTIONS, Given
from chaos.models.log.words import MODEL, VALUED, F, Record


def _row(record: Record) -> tuple[int, int, int, int]:
    flags = min(record.attempt, 0xFFFF) << ATTEMPT_SHIFT
    if record.value is None:
        return record.offset, NONE, flags | FLAG_DAMAGED, NONE
    return record.offset, record.value.writer, flags, record.value.sequence


def _nothing(_: Any) -> PackedArgument:
    return PackedArgument(NO_WRITER, NONE, 0)


_ARGUMENTS: Final[Mapping[Word, Callable[[Any], PackedArgument]]] = {
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

    name = MODEL
    help = "queues or partitions: messages are appended and read by offset"
    words: type[Word] = F
    functions = FUNCTIONS
    key = "queue"
    change = "send"
    row_layout: struct.Struct | None = READ
    stores_values = False

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.log.tables``."""
        from chaos.models.log.tables import TABLES

        return TABLES

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """Writer, sequence number or offset, and the number beside."""
        return _ARGUMENTS[f](argument)

    def pack_result(self, f: Word, result: Any) -> PackedResult:  # noqa: ARG002 - the result says it
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
