"""ZooKeeper's client protocol: requests and answers in frames, packed as its record compiler Jute packs them.

Source: zookeeper.jute and ClientCnxn of ZooKeeper 3.9. One session a connection; nothing depends on a session here, so
each connection begins one of its own and lets it end by itself.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from cluster.systems._shared.link import Malformed

CREATE: Final = 1
DELETE: Final = 2
GET_DATA: Final = 4
SET_DATA: Final = 5
GET_CHILDREN: Final = 8
SYNC: Final = 9
ANY_VERSION: Final = -1
SESSION_MS: Final = 60_000
"""How long a connection may be idle; a server ends it then."""

_INT: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">iqi")
_MOST: Final = 8 << 20
_OPEN_ACL: Final = _INT.pack(1) + _INT.pack(31)
_STAT: Final = struct.Struct(">qqqqiiiqiiq")


class Request(NamedTuple):
    """What is asked: a kind, and its body."""

    kind: int
    body: bytes


class Answer(NamedTuple):
    """The number of an error, 0 for none; the last transaction that the server had seen; the rest as it came."""

    error: int
    zxid: int
    body: bytes


class Node(NamedTuple):
    """The content of a node and how often it was written."""

    data: bytes
    version: int


def _text(text: str) -> bytes:
    data = text.encode()
    return _INT.pack(len(data)) + data


def _buffer(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def create(path: str, data: bytes = b"") -> Request:
    """Make a node that anybody may change."""
    acl = _OPEN_ACL + _text("world") + _text("anyone")
    return Request(CREATE, _text(path) + _buffer(data) + acl + _INT.pack(0))


def delete(path: str) -> Request:
    """Remove a node, whatever its version is."""
    return Request(DELETE, _text(path) + _INT.pack(ANY_VERSION))


def get_data(path: str) -> Request:
    """Read a node, without a watch."""
    return Request(GET_DATA, _text(path) + b"\0")


def set_data(path: str, data: bytes, version: int = ANY_VERSION) -> Request:
    """Write a node, if it has this version."""
    return Request(SET_DATA, _text(path) + _buffer(data) + _INT.pack(version))


def get_children(path: str) -> Request:
    """The names below a node, without a watch."""
    return Request(GET_CHILDREN, _text(path) + b"\0")


def sync(path: str) -> Request:
    """Let the server catch up with its leader."""
    return Request(SYNC, _text(path))


def node_of(body: bytes) -> Node:
    """What a read of a node returned. Raises Malformed."""
    data, rest = _taken(body)
    if len(rest) < _STAT.size:
        raise Malformed("a node without its state")
    return Node(data, _STAT.unpack_from(rest)[4])


def names_of(body: bytes) -> list[str]:
    """The names that a read of children returned. Raises Malformed."""
    if len(body) < _INT.size:
        raise Malformed("children without a number")
    (count,), rest, names = _INT.unpack_from(body), body[_INT.size :], []
    for _ in range(count):
        name, rest = _taken(rest)
        names.append(name.decode(errors="replace"))
    return names


def _taken(body: bytes) -> tuple[bytes, bytes]:
    """A buffer, and what is behind it."""
    if len(body) < _INT.size:
        raise Malformed("a buffer without a length")
    (length,) = _INT.unpack_from(body)
    end = _INT.size + max(0, length)
    if len(body) < end:
        raise Malformed("a buffer that is longer than its frame")
    return body[_INT.size : end], body[end:]


class Jute:
    """One connection's protocol; implements ``cluster.systems._shared.link.Codec``. The first answer is the session."""

    greeting = _buffer(struct.pack(">iqiq", 0, 0, SESSION_MS, 0) + _buffer(bytes(16)) + b"\0")

    def __init__(self) -> None:
        self._data = bytearray()
        self._has_session = False

    def encode(self, number: int, request: Request) -> bytes:
        """The request under its number."""
        return _buffer(struct.pack(">ii", number, request.kind) + request.body)

    def feed(self, data: bytes) -> Iterator[tuple[int, Answer]]:
        """The answers that are whole now."""
        self._data += data
        while (frame := self._frame()) is not None:
            if not self._has_session:
                self._has_session = True
                if frame[4:8] == b"\0\0\0\0":
                    raise Malformed("the server gives no session")
                continue
            if len(frame) < _HEAD.size:
                raise Malformed("an answer without a head")
            number, zxid, error = _HEAD.unpack_from(frame)
            yield number, Answer(error, zxid, frame[_HEAD.size :])

    def _frame(self) -> bytes | None:
        """The next frame if it is whole."""
        if len(self._data) < _INT.size:
            return None
        (length,) = _INT.unpack_from(self._data)
        if not 0 <= length <= _MOST:
            raise Malformed(f"a frame of {length} bytes")
        end = _INT.size + length
        if len(self._data) < end:
            return None
        frame = bytes(self._data[_INT.size : end])
        del self._data[:end]
        return frame
