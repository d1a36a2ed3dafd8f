"""The log on disk: segments of frames, each with its length, its index and a CRC, and recovery from a torn tail.

Frames are encoded and decoded by pure functions; ``SegmentedLog`` is the thin layer that owns the files. It holds
opaque payloads at the indices 0, 1, 2 ... It does not decide when data must be durable (``sync`` is the caller's word)
and does not guess: damage that a crash cannot explain is an error, not a truncation.

What a crash can leave is a tail of the last segment that was not yet synchronised. A segment is synchronised before
its successor is made, so a frame that does not decode ends the log if it is in the last segment, and is damage
anywhere else. The layout, little-endian: a file ``%020d.log``, named by its first index, of the eight bytes of
``MAGIC`` and then frames: length of the payload (4 bytes), CRC-32 of all that follows (4), index (8), payload.
"""

import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from cluster.systems.minimq.protocol.broker_messages import Record
from cluster.systems.minimq.storage.files import KERNEL, Files

MAGIC: Final = b"minimq\x00\x01"
PAYLOAD_BYTES_MAX: Final = 64 << 20
SEGMENT_BYTES: Final = 64 << 20

HEAD: Final = struct.Struct("<II")
INDEX: Final = struct.Struct("<Q")
FRAME_BYTES: Final = HEAD.size + INDEX.size
_NAME_DIGITS: Final = 20

_encode_record = msgspec.msgpack.Encoder().encode
_decode_record = msgspec.msgpack.Decoder(Record).decode


class StorageError(Exception):
    """Damage that a crash does not explain: which file, where, what."""


# ---------------------------------------------------------------- frames, pure


class Frame(NamedTuple):
    """A payload found whole at ``start``; the next frame would start at ``end``."""

    start: int
    end: int
    payload: bytes


def encode_frame(index: int, payload: bytes) -> bytes:
    """The bytes of one frame.

    Raises:
        ValueError: the payload is longer than a frame may be.
    """
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise ValueError(f"a payload of {len(payload)} bytes does not fit a frame of at most {PAYLOAD_BYTES_MAX}")
    content = INDEX.pack(index) + payload
    return HEAD.pack(len(payload), zlib.crc32(content, len(payload))) + content


def decode_frames(data: bytes, start: int, index: int) -> Iterator[Frame]:
    """The frames of ``data`` from ``start`` on, of which the first has ``index``; ends before the first not whole."""
    while start + FRAME_BYTES <= len(data):
        length, crc = HEAD.unpack_from(data, start)
        end = start + FRAME_BYTES + length
        if length > PAYLOAD_BYTES_MAX or end > len(data):
            return
        content = data[start + HEAD.size : end]
        if zlib.crc32(content, length) != crc or INDEX.unpack_from(content) != (index,):
            return
        yield Frame(start, end, content[INDEX.size :])
        start, index = end, index + 1


def encode_record(record: Record) -> bytes:
    """A record of the commit log as a payload."""
    return _encode_record(record)


def decode_record(payload: bytes) -> Record:
    """The reverse of ``encode_record``.

    Raises:
        msgspec.DecodeError: the payload is none.
    """
    return _decode_record(payload)


# ---------------------------------------------------------------- files


class Segment:
    """One file. ``starts``: where each frame begins; ``size``: where the next one will.

    Only the last segment of a log is open, so that a log may have more of them than a process may have open files.
    """

    def __init__(self, files: Files, path: Path, base: int, starts: Sequence[int], size: int) -> None:
        self._files = files
        self.path = path
        self.base = base
        self.starts = array("Q", starts)
        self.size = size
        self.fd = -1
        self.open()

    def open(self) -> None:
        """Open the file; fine if it is open."""
        if self.fd < 0:
            self.fd = self._files.open(self.path)

    def close(self) -> None:
        """Close the file; fine if it is closed."""
        if self.fd >= 0:
            self._files.close(self.fd)
            self.fd = -1

    def finish(self) -> None:
        """Make all of it durable and close it: the next segment is about to begin."""
        self.sync()
        self.close()

    def sync(self) -> None:
        """Make all of it durable."""
        self._files.sync(self.fd)

    @property
    def end(self) -> int:
        """The index after the last frame."""
        return self.base + len(self.starts)

    def cut(self, index: int) -> None:
        """Remove the frames at ``index`` and above, durably."""
        self.size = self.starts[index - self.base]
        del self.starts[index - self.base :]
        self._files.cut(self.fd, self.size)
        self.sync()


class SegmentedLog:
    """An append-only log in a folder, which must be this process' alone; cut only from the end.

    A context manager: leaving it closes the files and makes nothing durable.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, files: Files = KERNEL) -> None:
        """Open the log, made if missing, and remove a torn tail.

        Raises:
            StorageError: damage that a crash does not explain.
            OSError: the folder or a file cannot be used.
        """
        self._files = files
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._segments: list[Segment] = []
        self._recovered: list[bytes] = []
        files.make_folder(folder)
        files.sync_names(folder.parent)
        try:
            self._open_all()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def end(self) -> int:
        """The index after the last payload."""
        return self._segments[-1].end

    def take_recovered(self) -> list[bytes]:
        """The payloads found at the start, handed out once."""
        recovered, self._recovered = self._recovered, []
        return recovered

    def append(self, payloads: Sequence[bytes]) -> None:
        """Write payloads after the last one; with the kernel when this returns, durable after ``sync``.

        Raises:
            OSError: the write failed; the log must not be used any further, only opened anew.
        """
        waiting = bytearray()
        segment = self._segments[-1]
        for payload in payloads:
            if segment.size > len(MAGIC) and segment.size >= self._segment_bytes:
                self._write(segment, waiting)
                waiting.clear()
                segment = self._roll()
            frame = encode_frame(segment.end, payload)
            segment.starts.append(segment.size)
            segment.size += len(frame)
            waiting += frame
        self._write(segment, waiting)

    def sync(self) -> None:
        """Make everything appended durable.

        Raises:
            OSError: it may not be durable; as for ``append``.
        """
        self._segments[-1].sync()

    def truncate(self, start: int) -> None:
        """Durably remove the payloads at ``start`` and above; a crash on the way leaves more of them, from the front.

        Raises:
            OSError: as for ``append``.
        """
        while len(self._segments) > 1 and self._segments[-1].base >= start:
            segment = self._segments.pop()
            segment.close()
            self._files.remove(segment.path)
            self._files.sync_names(self._folder)
            self._segments[-1].open()
        if start < self.end:
            self._segments[-1].cut(start)

    def close(self) -> None:
        """Close the files."""
        for segment in self._segments:
            segment.close()
        self._segments.clear()

    # ------------------------------------------------------------ opening

    def _open_all(self) -> None:
        paths = [self._folder / name for name in self._files.names(self._folder) if name.endswith(".log")]
        index = 0
        for path in paths:
            base = _base_of(path)
            if base != index:
                raise StorageError(f"{path}: the log ends at index {index} before it; restore the missing segment")
            index = self._open(path, base, last=path is paths[-1])
        if not self._segments:
            self._make(0)

    def _open(self, path: Path, base: int, *, last: bool) -> int:
        """Open one segment; returns the index after it."""
        data = self._files.read(path)
        if data[: len(MAGIC)] != MAGIC:
            if not last or not MAGIC.startswith(data[: len(MAGIC)]):
                raise StorageError(f"{path}: not a segment of this version; it starts with {data[: len(MAGIC)]!r}")
            # The crash came between the making of the file and its first bytes.
            self._files.write_anew(path, MAGIC)
            data = MAGIC
        frames = list(decode_frames(data, len(MAGIC), base))
        size = frames[-1].end if frames else len(MAGIC)
        if size < len(data) and not last:
            raise StorageError(f"{path}: damaged at byte {size}, and other segments follow; restore it from a replica")
        segment = Segment(self._files, path, base, [frame.start for frame in frames], size)
        self._segments.append(segment)
        if size < len(data):
            self._files.cut(segment.fd, size)
        if last:
            segment.sync()
            self._files.sync_names(self._folder)
        else:
            segment.close()
        self._recovered += [frame.payload for frame in frames]
        return segment.end

    # ------------------------------------------------------------ writing

    def _roll(self) -> Segment:
        full = self._segments[-1]
        full.finish()
        return self._make(full.end)

    def _make(self, base: int) -> Segment:
        path = self._folder / f"{base:0{_NAME_DIGITS}d}.log"
        self._files.write_anew(path, MAGIC)
        segment = Segment(self._files, path, base, (), len(MAGIC))
        self._segments.append(segment)
        segment.sync()
        self._files.sync_names(self._folder)
        return segment

    def _write(self, segment: Segment, data: bytearray) -> None:
        """Write the frames whose places were already counted."""
        at = segment.size - len(data)
        view = memoryview(data)
        while view:
            count = self._files.write_at(segment.fd, view, at)
            view, at = view[count:], at + count


def _base_of(path: Path) -> int:
    if len(path.stem) != _NAME_DIGITS or not path.stem.isdigit():
        raise StorageError(f"{path}: not the name of a segment; move it out of the log's folder")
    return int(path.stem)
