"""One append-only stream per worker: the invocation is stored before the call goes out.

Records have a fixed size and are stored into a mapped file: the page cache survives ``kill -9``, a
store costs microseconds, and the torn tail is plain from sequence number and CRC. A worker has three
files, side by side::

    history/w3.ops     72-byte records: invocations, completions, one END
    history/w3.reads   32-byte records: what polls returned, before the poll's completion
    history/w3.errors  one line of text per distinct error, numbered from 1, before its first use

The module refuses to pair, sort or judge; ``chaos.core.history`` reads what it wrote.
"""

import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import Final

from chaos.core.clock import now_ns
from chaos.core.op import Completion, Invocation, Record, Type

# crc, sequence, time_ns, op, type, f, client, process, key | count, a, b, c, ref, node, flags, argument
OP: Final = struct.Struct("<IIqIBBHIiqqqIhHq")
# crc, op, offset, writer, flags, sequence
READ: Final = struct.Struct("<IIqiIq")
OP_SIZE: Final = 72
READ_SIZE: Final = 32
FLAG_PINNED: Final = 1
FLAG_DAMAGED: Final = 1
ATTEMPT_SHIFT: Final = 16
"""The flags of a read record hold the attempt above this bit."""
NONE: Final = -1

_CRC: Final = struct.Struct("<I")
_FIRST_SIZE: Final = 1 << 20


class _Mapped:
    """A mapped file that doubles when full and is cut to its content at the end."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self._size = _FIRST_SIZE
        os.ftruncate(self._fd, self._size)
        self._map = mmap.mmap(self._fd, self._size)
        self._used = 0

    def append(self, record: bytes) -> None:
        end = self._used + len(record)
        if end > self._size:
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
    return _CRC.pack(zlib.crc32(memoryview(body)[4:], place)) + body[4:]


class Recorder:
    """Writes one worker's stream.

    Args:
        folder: the run's ``history`` folder, which exists.
        worker: the worker's number; the files must not exist yet.
        nodes: node names in the order of ``run.json``; completions store positions in it.
    """

    def __init__(self, folder: Path, worker: int, nodes: tuple[str, ...]) -> None:
        self._ops = _Mapped(folder / f"w{worker}.ops")
        self._reads = _Mapped(folder / f"w{worker}.reads")
        self._errors_fd = os.open(folder / f"w{worker}.errors", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._errors: dict[str, int] = {}
        self._nodes = {name: position for position, name in enumerate(nodes)}
        self._sequence = 0
        self._rows = 0
        self._op = 0

    def _store(self, *fields: int) -> None:
        self._sequence += 1
        self._ops.append(_sealed(OP.pack(0, self._sequence, *fields)))

    def invoke(
        self, op: Invocation, client: int, scheduled_ns: int, *, pinned: bool, at_ns: int | None = None
    ) -> tuple[int, int]:
        """Store an invocation; returns (operation number, its time). Call before sending.

        ``at_ns`` is for histories that already happened (literals, imports); a load never gives it.
        """
        self._op += 1
        time_ns = now_ns() if at_ns is None else at_ns
        writer, sequence = op.value if op.value is not None else (0xFFFFFFFF, NONE)
        detail = sequence if op.value is not None else _known(op.offset)
        self._store(
            time_ns,
            self._op,
            Type.INVOKE,
            op.f,
            client,
            op.process,
            op.key,
            scheduled_ns,
            detail,
            op.deadline_ns,
            writer,
            NONE,
            FLAG_PINNED if pinned else 0,
            op.argument,
        )
        return self._op, time_ns

    def complete(self, number: int, op: Invocation, client: int, done: Completion, *, at_ns: int | None = None) -> int:
        """Store a completion (its read records first); returns its time. ``at_ns`` as in ``invoke``."""
        time_ns = now_ns() if at_ns is None else at_ns
        for record in done.records:
            self._rows += 1
            self._reads.append(_sealed(_read_record(number, record), self._rows))
        self._store(
            time_ns,
            number,
            done.type,
            op.f,
            client,
            op.process,
            len(done.records),
            _known(done.offset if op.value is not None else done.next_offset),
            _known(done.min_offset),
            _known(done.max_offset),
            self._error(done.error),
            self._nodes.get(done.node or "", NONE),
            0,
            0,
        )
        return time_ns

    def not_sent(self, op: Invocation, client: int, scheduled_ns: int, *, pinned: bool) -> None:
        """Store that an operation was due and never left."""
        number, _ = self.invoke(op, client, scheduled_ns, pinned=pinned)
        self.complete(number, op, client, Completion(type=Type.NOT_SENT, error="bound on operations in flight reached"))

    def _error(self, text: str | None) -> int:
        if not text:
            return 0
        line = " ".join(text.split())
        number = self._errors.get(line)
        if number is None:
            number = self._errors[line] = len(self._errors) + 1
            os.write(self._errors_fd, line.encode() + b"\n")
        return number

    def close(self) -> None:
        """End the stream properly: a stream without END is one whose worker died."""
        self._store(now_ns(), 0, Type.END, 0, 0, 0, 0, NONE, NONE, NONE, 0, NONE, 0, 0)
        self._ops.close()
        self._reads.close()
        os.close(self._errors_fd)


def _known(number: int | None) -> int:
    return NONE if number is None else number


def _read_record(number: int, record: Record) -> bytes:
    flags = min(record.attempt, 0xFFFF) << ATTEMPT_SHIFT
    if record.value is None:
        return READ.pack(0, number, record.offset, NONE, flags | FLAG_DAMAGED, NONE)
    return READ.pack(0, number, record.offset, record.value.writer, flags, record.value.sequence)
