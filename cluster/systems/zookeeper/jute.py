"""ZooKeeper's client protocol: requests and answers in frames, packed as its record compiler Jute packs them.

Source: zookeeper.jute and ClientCnxn of ZooKeeper 3.9. A connection begins a session of its own; nothing depends on
sessions here, so the server ends each by itself once it was idle for ``SESSION_MS``.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from cluster.systems._shared.link import Malformed

BEGIN_SESSION: Final = -10
CREATE: Final = 1
DELETE: Final = 2
GET_DATA: Final = 4
SET_DATA: Final = 5
GET_CHILDREN: Final = 8
SYNC: Final = 9
CHECK: Final = 13
MULTI: Final = 14
ANY_VERSION: Final = -1
SESSION_MS: Final = 60_000
"""How long a connection may be idle; a server ends it then."""

_INT: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">iqi")
_BEGUN: Final = struct.Struct(">iiq")
_PART: Final = struct.Struct(">i?i")
_ERROR: Final = -1
"""The kind of a part of an answer that is an error, and of what ends the parts."""
_BESIDE: Final = -2
"""What the parts of a multi are told that were not the reason why nothing was done."""
_MOST_BYTES: Final = 8 << 20
_STAT: Final = struct.Struct(">qqqqiiiqiiq")
_VERSION_FIELD: Final = 4


class Request(NamedTuple):
    """What is asked: a kind, and its body."""

    kind: int
    body: bytes


class Answer(NamedTuple):
    """The number of an error, 0 for none; the rest as it came."""

    error: int
    body: bytes


class Node(NamedTuple):
    """The content of a node and how often it was written."""

    data: bytes
    version: int


def _buffer(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def _text(text: str) -> bytes:
    return _buffer(text.encode())


_OPEN_ACL: Final = _INT.pack(1) + _INT.pack(31) + _text("world") + _text("anyone")
PERSISTENT: Final = 0
SEQUENTIAL: Final = 2
"""How a node is made: it stays until somebody removes it; its name ends with the next number of the node above."""
SESSION: Final = Request(BEGIN_SESSION, struct.pack(">iqiq", 0, 0, SESSION_MS, 0) + _buffer(bytes(16)) + b"\0")
"""The first request on a connection; its answer is the session."""


def create(path: str, data: bytes = b"", mode: int = PERSISTENT) -> Request:
    """Make a node that anybody may change."""
    return Request(CREATE, _text(path) + _buffer(data) + _OPEN_ACL + _INT.pack(mode))


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


def check(path: str, version: int) -> Request:
    """See that a node has this version; only within a multi."""
    return Request(CHECK, _text(path) + _INT.pack(version))


def multi(requests: Sequence[Request]) -> Request:
    """Do all of these, or none of them."""
    parts = (_PART.pack(one.kind, False, -1) + one.body for one in requests)
    return Request(MULTI, b"".join(parts) + _PART.pack(-1, True, -1))


def error_of_multi(body: bytes) -> int:
    """The number of the error for which a multi was not done; 0 if all of it was. Raises Malformed."""
    errors: list[int] = []
    while True:
        at = len(errors) * (_PART.size + _INT.size)
        if len(body) < at + _PART.size:
            raise Malformed("a multi without an end")
        kind, is_end, error = _PART.unpack_from(body, at)
        if is_end:
            return next((one for one in errors if one not in (0, _BESIDE)), _BESIDE if errors else 0)
        if kind != _ERROR and errors:
            raise Malformed("a multi of which a part was done")
        if kind != _ERROR:
            return 0  # its parts are all done
        errors.append(error)


def node_of(body: bytes) -> Node:
    """What a read of a node returned. Raises Malformed."""
    data, end = _taken(body, 0)
    if len(body) < end + _STAT.size:
        raise Malformed("a node without its state")
    return Node(data, _STAT.unpack_from(body, end)[_VERSION_FIELD])


def path_of(body: bytes) -> str:
    """The path of the node that was made. Raises Malformed."""
    return _taken(body, 0)[0].decode(errors="replace")


def names_of(body: bytes) -> list[str]:
    """The names that a read of children returned. Raises Malformed."""
    if len(body) < _INT.size:
        raise Malformed("children without a number")
    (count,), end, names = _INT.unpack_from(body), _INT.size, []
    for _ in range(count):
        name, end = _taken(body, end)
        names.append(name.decode(errors="replace"))
    return names


def _taken(body: bytes, begin: int) -> tuple[bytes, int]:
    """A buffer that begins there, and where it ends. A length below 0 stands for no buffer, which is read as empty."""
    start = begin + _INT.size
    if len(body) < start:
        raise Malformed("a buffer without a length")
    end = start + max(0, _INT.unpack_from(body, begin)[0])
    if len(body) < end:
        raise Malformed("a buffer that is longer than its frame")
    return body[start:end], end


def _answered(frame: bytes) -> tuple[int, Answer]:
    """The answer to a request other than ``SESSION``, with its number."""
    if len(frame) < _HEAD.size:
        raise Malformed("an answer without a head")
    number, _, error = _HEAD.unpack_from(frame)
    return number, Answer(error, frame[_HEAD.size :])


class Jute:
    """One connection's protocol, with ``SESSION`` as the first request.

    Implements ``cluster.systems._shared.link.Codec``.
    """

    greeting = b""

    def __init__(self) -> None:
        self._data = bytearray()
        self._session: int | None = None
        self._has_session = False

    def encode(self, number: int, request: Request) -> bytes:
        """The request under its number; ``SESSION`` has none on the wire."""
        if request.kind == BEGIN_SESSION:
            self._session = number
            return _buffer(request.body)
        return _buffer(struct.pack(">ii", number, request.kind) + request.body)

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answers that are whole now."""
        self._data += data
        answers = []
        while (frame := self._frame()) is not None:
            answers.append(_answered(frame) if self._has_session else self._begun(frame))
        return answers

    def _begun(self, frame: bytes) -> tuple[int, Answer]:
        """The answer to ``SESSION``. A server that gives none says so by a time of 0."""
        if self._session is None or len(frame) < _BEGUN.size:
            raise Malformed("no answer to the request for a session")
        _, idle_ms, _ = _BEGUN.unpack_from(frame)
        if idle_ms <= 0:
            raise Malformed("the server gives no session")
        self._has_session = True
        return self._session, Answer(0, frame)

    def _frame(self) -> bytes | None:
        """The next frame if it is whole."""
        if len(self._data) < _INT.size:
            return None
        (length,) = _INT.unpack_from(self._data)
        if not 0 <= length <= _MOST_BYTES:
            raise Malformed(f"a frame of {length} bytes")
        end = _INT.size + length
        if len(self._data) < end:
            return None
        frame = bytes(self._data[_INT.size : end])
        del self._data[:end]
        return frame
