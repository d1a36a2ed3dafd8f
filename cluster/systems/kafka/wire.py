"""Kafka's protocol on a connection: frames, and the values that requests and answers are made of.

Source: the protocol guide and the message definitions of Kafka 4.3. Of each request one version is used that all
releases from 3.3 on know; those are the last ones before "flexible" encodings, except where there is no other.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from cluster.systems._shared.link import Malformed

CLIENT_ID: Final = "chaos"
_MOST_BYTES: Final = 64 << 20
_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_MOST_SHIFT: Final = 63

ValueT = TypeVar("ValueT")


class Request(NamedTuple):
    """What is asked: the number of the request, its version, its body; ``flexible``: how its head is written."""

    api: int
    version: int
    body: bytes
    flexible: bool = False


def int8(value: int) -> bytes:
    """Eight bits; also a boolean."""
    return _INT8.pack(value)


def int16(value: int) -> bytes:
    """Sixteen bits."""
    return _INT16.pack(value)


def int32(value: int) -> bytes:
    """Thirty-two bits."""
    return _INT32.pack(value)


def int64(value: int) -> bytes:
    """Sixty-four bits."""
    return _INT64.pack(value)


def text(value: str | None) -> bytes:
    """A string, or none."""
    if value is None:
        return int16(-1)
    data = value.encode()
    return int16(len(data)) + data


def blob(data: bytes) -> bytes:
    """Bytes with their number."""
    return int32(len(data)) + data


def array(items: Sequence[bytes]) -> bytes:
    """Encoded items with their number."""
    return int32(len(items)) + b"".join(items)


def unsigned(value: int) -> bytes:
    """A number of seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def compact_text(value: str) -> bytes:
    """A string in the flexible encoding."""
    data = value.encode()
    return unsigned(len(data) + 1) + data


def compact_array(items: Sequence[bytes]) -> bytes:
    """Encoded items with their number in the flexible encoding."""
    return unsigned(len(items) + 1) + b"".join(items)


def signed(value: int) -> bytes:
    """Likewise, with the sign in the lowest bit."""
    return unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


class Reader:
    """Takes values one by one from the front of some bytes. Every method raises Malformed where they end too soon."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self.data) - self.at

    def _number(self, form: struct.Struct) -> int:
        end = self.at + form.size
        if end > len(self.data):
            raise Malformed("an answer that ends too soon")
        (value,) = form.unpack_from(self.data, self.at)
        self.at = end
        return int(value)

    def int8(self) -> int:
        """Eight bits."""
        return self._number(_INT8)

    def flag(self) -> bool:
        """A boolean."""
        return self._number(_INT8) != 0

    def int16(self) -> int:
        """Sixteen bits."""
        return self._number(_INT16)

    def int32(self) -> int:
        """Thirty-two bits."""
        return self._number(_INT32)

    def int64(self) -> int:
        """Sixty-four bits."""
        return self._number(_INT64)

    def take(self, count: int) -> bytes:
        """So many bytes."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise Malformed("an answer that ends too soon")
        out = self.data[self.at : end]
        self.at = end
        return out

    def text(self) -> str:
        """A string; none is read as empty."""
        return self.take(max(0, self.int16())).decode(errors="replace")

    def maybe_text(self) -> str | None:
        """A string, or none."""
        length = self.int16()
        return None if length < 0 else self.take(length).decode(errors="replace")

    def blob(self) -> bytes:
        """Bytes; none are read as empty."""
        return self.take(max(0, self.int32()))

    def array(self, item: Callable[[], ValueT]) -> list[ValueT]:
        """Items one after the other; none are read as an empty array."""
        count = self.int32()
        if count > self.left:
            raise Malformed(f"an array of {count} items in {self.left} bytes")
        return [item() for _ in range(count)]

    def unsigned(self) -> int:
        """A number of seven bits a byte."""
        value = shift = 0
        while True:
            byte = self._number(_INT8) & 0xFF
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the highest bit says that more follows
                return value
            shift += 7
            if shift > _MOST_SHIFT:
                raise Malformed("a number of more than 64 bits")

    def signed(self) -> int:
        """Likewise, with the sign in the lowest bit."""
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def compact_text(self) -> str:
        """A string in the flexible encoding."""
        return self.take(max(0, self.unsigned() - 1)).decode(errors="replace")

    def compact_array(self, item: Callable[[], ValueT]) -> list[ValueT]:
        """Items in the flexible encoding; none are read as an empty array."""
        count = max(0, self.unsigned() - 1)
        if count > self.left:
            raise Malformed(f"an array of {count} items in {self.left} bytes")
        return [item() for _ in range(count)]

    def tags(self) -> None:
        """Fields that somebody added later, which nobody here knows."""
        for _ in range(self.unsigned()):
            self.unsigned()
            self.take(self.unsigned())


class Wire:
    """One connection's protocol. Implements ``cluster.systems._shared.link.Codec``."""

    greeting = b""

    def __init__(self) -> None:
        self._data = bytearray()
        self._flexible: set[int] = set()

    def encode(self, number: int, request: Request) -> bytes:
        """The request under its number."""
        head = int16(request.api) + int16(request.version) + int32(number) + text(CLIENT_ID)
        if request.flexible:
            self._flexible.add(number)
            head += b"\0"
        return blob(head + request.body)

    def feed(self, data: bytes) -> Iterable[tuple[int, Reader]]:
        """The answers that are whole now."""
        self._data += data
        answers = []
        while (frame := self._frame()) is not None:
            reader = Reader(frame)
            number = reader.int32()
            if number in self._flexible:
                self._flexible.discard(number)
                reader.tags()
            answers.append((number, reader))
        return answers

    def _frame(self) -> bytes | None:
        """The next frame if it is whole."""
        if len(self._data) < _INT32.size:
            return None
        (length,) = _INT32.unpack_from(self._data)
        if not 0 <= length <= _MOST_BYTES:
            raise Malformed(f"a frame of {length} bytes")
        end = _INT32.size + length
        if len(self._data) < end:
            return None
        frame = bytes(self._data[_INT32.size : end])
        del self._data[:end]
        return frame
