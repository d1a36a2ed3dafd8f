"""ZooKeeper's client protocol: requests and answers in frames, packed as its record compiler Jute packs them.

Source: zookeeper.jute and ClientCnxn of ZooKeeper 3.9. A connection begins a session, or goes on with one. Most
sessions are never ended here: the server ends each by itself once it was idle for ``SESSION_MS``.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from cluster.systems._shared.link import Malformed

END_SESSION: Final = -11
BEGIN_SESSION: Final = -10
CREATE: Final = 1
DELETE: Final = 2
GET_DATA: Final = 4
SET_DATA: Final = 5
GET_CHILDREN: Final = 8
SYNC: Final = 9
PING: Final = 11
CHECK: Final = 13
MULTI: Final = 14
CREATE2: Final = 15
ADD_WATCH: Final = 106
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
_CREATED_FIELD: Final = 0
_WRITTEN_FIELD: Final = 1
_VERSION_FIELD: Final = 4
_PING_NUMBER: Final = -2
"""Every ping has this number on the wire, and so has its answer."""
EVENT_NUMBER: Final = -1
"""Every event of a watch has this number on the wire."""
_RECURSIVE: Final = 1
_EVENT: Final = struct.Struct(">ii")
_PASSWORD_BYTES: Final = 16
_EXPIRED: Final = -112


class Request(NamedTuple):
    """What is asked: a kind, and its body."""

    kind: int
    body: bytes


class Answer(NamedTuple):
    """The number of an error, 0 for none; the rest as it came.

    ``transaction``: the last one that the server had applied; of an event the one that it is of, -1 where a server
    does not say (before 3.9).
    """

    error: int
    body: bytes
    transaction: int = 0


class Event(NamedTuple):
    """What a watch was told: the kind of change (``CREATED``, ``DELETED``, ``CHANGED``), and the node's path."""

    kind: int
    path: str


class Session(NamedTuple):
    """A session: its number and password, by which another connection goes on with it, and its length."""

    number: int
    password: bytes
    timeout_ms: int


class Made(NamedTuple):
    """The path of a new node, and the number of the transaction that made it."""

    path: str
    transaction: int


class Node(NamedTuple):
    """The content of a node and how often it was written."""

    data: bytes
    version: int


class Known(NamedTuple):
    """A node as a server has it: its content, the transactions that made and wrote it, whose it is, how many are below.

    ``owner``: the session that it ends with; 0: none.
    """

    data: bytes
    made: int
    written: int
    version: int
    owner: int
    below: int


def _buffer(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def _text(text: str) -> bytes:
    return _buffer(text.encode())


_OPEN_ACL: Final = _INT.pack(1) + _INT.pack(31) + _text("world") + _text("anyone")
CREATED: Final = 1
DELETED: Final = 2
CHANGED: Final = 3
"""Kinds of changes. A recursive watch is told of no other."""
_CONNECTED: Final = 3
PERSISTENT: Final = 0
EPHEMERAL: Final = 1
SEQUENTIAL: Final = 2
"""How a node is made: it stays until somebody removes it; it ends with the session that made it; its name ends with the
next number of the node above. ``EPHEMERAL | SEQUENTIAL`` is both."""
NO_PASSWORD: Final = bytes(_PASSWORD_BYTES)


def session(timeout_ms: int, number: int = 0, password: bytes = NO_PASSWORD) -> Request:
    """The first request on a connection: begin a session, or go on with one; its answer is the session."""
    return Request(BEGIN_SESSION, struct.pack(">iqiq", 0, 0, timeout_ms, number) + _buffer(password) + b"\0")


SESSION: Final = session(SESSION_MS)
"""What connections begin with that need no session of a certain length."""


def ping() -> Request:
    """Keep the session of this connection. At most one may be under way on a connection."""
    return Request(PING, b"")


def end_session() -> Request:
    """End the session of this connection, and with it its ephemeral nodes."""
    return Request(END_SESSION, b"")


def create(path: str, data: bytes = b"", mode: int = PERSISTENT) -> Request:
    """Make a node that anybody may change."""
    return Request(CREATE, _text(path) + _buffer(data) + _OPEN_ACL + _INT.pack(mode))


def create_and_tell(path: str, mode: int = PERSISTENT, data: bytes = b"") -> Request:
    """Make a node; the answer says under which path, and by which transaction."""
    return Request(CREATE2, create(path, data, mode).body)


def add_watch(path: str) -> Request:
    """Be told from now on of every change of a node and of all below it, until the connection ends."""
    return Request(ADD_WATCH, _text(path) + _INT.pack(_RECURSIVE))


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


def last_version(body: bytes) -> int:
    """How often a node was written that the last part of a multi wrote, which was done. Raises Malformed."""
    return _of_last_part(body, _VERSION_FIELD)


def transaction_of_multi(body: bytes) -> int:
    """The transaction of a multi whose last part wrote a node, and which was done. Raises Malformed."""
    return _of_last_part(body, _WRITTEN_FIELD)


def _of_last_part(body: bytes, field: int) -> int:
    at = len(body) - _PART.size - _STAT.size
    if at < _PART.size:
        raise Malformed("a multi that wrote nothing")
    return int(_STAT.unpack_from(body, at)[field])


def transaction_of(body: bytes) -> int:
    """The transaction by which a node was written; ``body`` is the answer to that. Raises Malformed."""
    if len(body) < _STAT.size:
        raise Malformed("a node without its state")
    return int(_STAT.unpack_from(body)[_WRITTEN_FIELD])


def event_of(body: bytes) -> Event:
    """What a watch was told. Raises Malformed, also for what is no change of a node."""
    if len(body) < _EVENT.size:
        raise Malformed("an event that is cut off")
    kind, state = _EVENT.unpack_from(body)
    if kind not in (CREATED, DELETED, CHANGED) or state != _CONNECTED:
        raise Malformed(f"an event of kind {kind} in state {state}")
    return Event(kind, _taken(body, _EVENT.size)[0].decode(errors="replace"))


def made_of(body: bytes) -> Made:
    """What ``create_and_tell`` returned. Raises Malformed."""
    path, end = _taken(body, 0)
    if len(body) < end + _STAT.size:
        raise Malformed("a node without its state")
    return Made(path.decode(errors="replace"), _STAT.unpack_from(body, end)[_CREATED_FIELD])


def session_of(body: bytes) -> Session:
    """What a server gave. Raises Malformed."""
    _, timeout_ms, number = _BEGUN.unpack_from(body)
    return Session(number, _taken(body, _BEGUN.size)[0], timeout_ms)


def node_of(body: bytes) -> Node:
    """What a read of a node returned. Raises Malformed."""
    data, end = _taken(body, 0)
    if len(body) < end + _STAT.size:
        raise Malformed("a node without its state")
    return Node(data, _STAT.unpack_from(body, end)[_VERSION_FIELD])


def known_of(body: bytes) -> Known:
    """What a read of a node returned, with its state. Raises Malformed."""
    data, end = _taken(body, 0)
    if len(body) < end + _STAT.size:
        raise Malformed("a node without its state")
    made, written, _, _, version, _, _, owner, _, below, _ = _STAT.unpack_from(body, end)
    return Known(data, made, written, version, owner, below)


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


class Jute:
    """One connection's protocol, with the request for a session as the first one.

    Implements ``cluster.systems._shared.link.Codec``.
    """

    greeting = b""

    def __init__(self) -> None:
        self._data = bytearray()
        self._session: int | None = None
        self._ping: int | None = None
        self._has_session = False

    def encode(self, number: int, request: Request) -> bytes:
        """The request under its number; the request for a session has none on the wire, and a ping one of its own."""
        if request.kind == BEGIN_SESSION:
            self._session = number
            return _buffer(request.body)
        if request.kind == PING:
            self._ping, number = number, _PING_NUMBER
        return _buffer(struct.pack(">ii", number, request.kind) + request.body)

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answers that are whole now."""
        self._data += data
        answers = []
        while (frame := self._frame()) is not None:
            answers.append(self._answered(frame) if self._has_session else self._begun(frame))
        return answers

    def _answered(self, frame: bytes) -> tuple[int, Answer]:
        """The answer to a request other than that for a session, with its number."""
        if len(frame) < _HEAD.size:
            raise Malformed("an answer without a head")
        number, transaction, error = _HEAD.unpack_from(frame)
        if number == _PING_NUMBER and self._ping is not None:
            number = self._ping
        return number, Answer(error, frame[_HEAD.size :], transaction)

    def _begun(self, frame: bytes) -> tuple[int, Answer]:
        """The answer to the request for a session. A server that knows none such says so by a length of 0."""
        if self._session is None or len(frame) < _BEGUN.size:
            raise Malformed("no answer to the request for a session")
        _, idle_ms, _ = _BEGUN.unpack_from(frame)
        self._has_session = True
        return self._session, Answer(0 if idle_ms > 0 else _EXPIRED, frame)

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
