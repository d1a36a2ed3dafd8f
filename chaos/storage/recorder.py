"""One append-only stream per worker: the invocation is stored before the call goes out.

Records have a fixed size and are stored into a mapped file: the page cache survives ``kill -9``, a
store costs microseconds, and the torn tail is plain from sequence number and CRC. A worker's files, side by side::

    history/w3.ops     72-byte records: invocations, completions, one END
    history/w3.reads   rows of fixed size that completions brought, where the model has such, before their completion
    history/w3.values  arguments and results that do not fit into a record, where the model has such, before the record
    history/w3.errors  one line of text per distinct error, numbered from 1, before its first use

The model (``chaos.core.model``) says what of an operation is stored where. ``chaos.storage.history`` reads it.
"""

import mmap
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from chaos.core.clock import now_ns
from chaos.core.model import Model
from chaos.core.op import Completion, Invocation, Type

# crc, sequence, time_ns, op, type, f, client, process, key | rows, a, b, c, ref, node, flags, d
# invocation: a scheduled, b and d slots of the argument, c deadline, ref small slot or number of the values
# completion: a, b, c slots of the result, d number of the values, ref number of the error
OP: Final = struct.Struct("<IIqIBBHIiqqqIhHq")
OP_SIZE: Final = 72
FRAME: Final = struct.Struct("<II")
"""What values begin with: CRC-32 of the rest, which begins with the number of the values, and their length."""

FLAG_PINNED: Final = 1
FLAG_VALUES: Final = 2
NONE: Final = -1

_CRC: Final = struct.Struct("<I")
_PACK: Final = OP.pack_into
_FIRST_SIZE: Final = 1 << 20


class _Mapped:
    """A mapped file that doubles when full and is cut to its content at the end."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self._size = _FIRST_SIZE
        os.ftruncate(self._fd, self._size)
        self._map = mmap.mmap(self._fd, self._size)
        self._used = 0

    def append(self, record: bytes | bytearray) -> None:
        end = self._used + len(record)
        if end > self._size:
            while end > self._size:
                self._size *= 2
            os.ftruncate(self._fd, self._size)
            self._map.resize(self._size)
        self._map[self._used : end] = record
        self._used = end

    def close(self) -> None:
        self._map.close()
        os.ftruncate(self._fd, self._used)
        os.close(self._fd)


def _sealed(body: bytes, place: int = 0) -> bytes:
    """Put the CRC of everything behind the first four bytes into the first four bytes; it begins with ``place``."""
    rest = body[4:]
    return _CRC.pack(zlib.crc32(rest, place)) + rest


def end_record(sequence: int) -> bytes:
    """The record that ends a stream, under its number; it carries the time of now."""
    return _sealed(OP.pack(0, sequence, now_ns(), 0, Type.END, 0, 0, 0, 0, NONE, NONE, NONE, 0, NONE, 0, 0))


class Recorder:
    """Writes one worker's stream.

    Args:
        folder: the run's ``history`` folder, which exists.
        worker: the worker's number; the files must not exist yet.
        nodes: node names in the order of ``run.json``; completions store positions in it.
        model: whose operations these are.
    """

    def __init__(self, folder: Path, worker: int, nodes: tuple[str, ...], model: Model) -> None:
        self._ops = _Mapped(folder / f"w{worker}.ops")
        self._reads = _Mapped(folder / f"w{worker}.reads") if model.row_layout is not None else None
        self._row = model.row_layout
        self._values = _Mapped(folder / f"w{worker}.values") if model.stores_values else None
        self._errors_fd = os.open(folder / f"w{worker}.errors", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._pack_argument, self._pack_result = model.pack_argument, model.pack_result
        self._errors: dict[str, int] = {}
        self._nodes = {name: position for position, name in enumerate(nodes)}
        self._record = bytearray(OP_SIZE)  # each record is made in it: a load stores tens of thousands a second
        self._behind_crc = memoryview(self._record)[_CRC.size :]
        self._sequence = 0
        self._rows = 0
        self._frames = 0
        self._op = 0

    def _store(self) -> None:
        """Store the record that was packed, under its checksum."""
        _CRC.pack_into(self._record, 0, zlib.crc32(self._behind_crc))
        self._ops.append(self._record)

    def _store_rows(self, number: int, rows: Sequence[tuple[int, ...]]) -> None:
        assert self._reads is not None, "a model that brings rows has a format for them"
        assert self._row is not None
        pack, first = self._row.pack, self._rows + 1
        self._rows += len(rows)
        self._reads.append(b"".join([_sealed(pack(0, number, *row), place) for place, row in enumerate(rows, first)]))

    def _store_values(self, values: bytes) -> int:
        assert self._values is not None, "a model that brings values says so"
        self._frames += 1
        self._values.append(_sealed(FRAME.pack(0, len(values)) + values, self._frames))
        return self._frames

    def invoke(self, op: Invocation, scheduled_ns: int, *, pinned: bool, at_ns: int | None = None) -> tuple[int, int]:
        """Store an invocation; returns (operation number, its time). Call before sending.

        ``at_ns`` is for histories that already happened (literals, imports); a load never gives it.
        """
        self._op += 1
        small, first, second, values = self._pack_argument(op.f, op.argument)
        flags = FLAG_PINNED if pinned else 0
        if values is not None:
            small, flags = self._store_values(values), flags | FLAG_VALUES
        time_ns = now_ns() if at_ns is None else at_ns
        self._sequence += 1
        _PACK(
            self._record,
            0,
            0,
            self._sequence,
            time_ns,
            self._op,
            Type.INVOKE,
            op.f,
            op.client,
            op.process,
            op.key,
            scheduled_ns,
            first,
            op.deadline_ns,
            small,
            NONE,
            flags,
            second,
        )
        self._store()
        return self._op, time_ns

    def complete(self, number: int, op: Invocation, done: Completion, *, at_ns: int | None = None) -> int:
        """Store a completion (what it brought first); returns its time. ``at_ns`` as in ``invoke``."""
        time_ns = now_ns() if at_ns is None else at_ns
        first, second, third, rows, values = self._pack_result(op.f, done.result)
        if rows:
            self._store_rows(number, rows)
        frame = 0 if values is None else self._store_values(values)
        self._sequence += 1
        _PACK(
            self._record,
            0,
            0,
            self._sequence,
            time_ns,
            number,
            done.type,
            op.f,
            op.client,
            op.process,
            len(rows),
            first,
            second,
            third,
            self._error(done.error),
            self._nodes.get(done.node or "", NONE),
            FLAG_VALUES if frame else 0,
            frame,
        )
        self._store()
        return time_ns

    def not_sent(self, op: Invocation, scheduled_ns: int, *, pinned: bool) -> None:
        """Store that an operation was due and never left."""
        number, _ = self.invoke(op, scheduled_ns, pinned=pinned)
        self.complete(number, op, Completion(type=Type.NOT_SENT, error="bound on operations in flight reached"))

    def _error(self, text: str | None) -> int:
        if not text:
            return 0
        number = self._errors.get(text)  # most texts are one line
        if number is not None:
            return number
        line = " ".join(text.split())
        number = self._errors.get(line)
        if number is None:
            number = self._errors[line] = len(self._errors) + 1
            os.write(self._errors_fd, line.encode() + b"\n")
        return number

    def close(self) -> None:
        """End the stream properly: a stream without END is one whose worker died."""
        self._sequence += 1
        self._ops.append(end_record(self._sequence))
        for file in (self._ops, self._reads, self._values):
            if file is not None:
                file.close()
        os.close(self._errors_fd)
