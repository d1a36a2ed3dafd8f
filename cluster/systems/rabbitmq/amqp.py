"""AMQP 0-9-1 as far as clients here need it: one channel a connection, one request at a time, each request once.

A connection is opened by one greeting: RabbitMQ handles what it reads in order, so nobody waits for the answers of the
handshake. The channel confirms what is published.
"""

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from cluster.systems._shared.link import Malformed

PORT: Final = 5672
HEARTBEAT_S: Final = 6
"""The server takes a connection that is silent for twice as long for dead."""
PERSISTENT: Final = 2
_METHOD, _HEADER, _BODY, _HEARTBEAT = 1, 2, 3, 8
_END: Final = 0xCE
_FRAME_MAX: Final = 131072
_BASIC: Final = 60
_HEAD: Final = struct.Struct(">BHI")
_ID: Final = struct.Struct(">HH")

START, TUNE, OPENED = (10, 10), (10, 30), (10, 41)
CLOSE, CLOSE_OK = (10, 50), (10, 51)
CHANNEL_OPENED, CHANNEL_CLOSE = (20, 11), (20, 40)
DECLARED, DELETED = (50, 11), (50, 41)
RETURN, GOT, NOTHING = (60, 50), (60, 71), (60, 72)
ACK, NACK = (60, 80), (60, 120)
SELECTED = (85, 11)
_HANDSHAKE: Final = frozenset({START, TUNE, OPENED, CHANNEL_OPENED})


class Declare(NamedTuple):
    """Make a durable queue with these arguments; one that is there with the same ones is left."""

    queue: str
    arguments: Mapping[str, str | int]


class Delete(NamedTuple):
    """Delete a queue with all that is in it; none is fine."""

    queue: str


class Publish(NamedTuple):
    """Send a persistent message to a queue; it comes back if there is no such queue."""

    queue: str
    body: bytes


class Get(NamedTuple):
    """Take a message, to be acknowledged."""

    queue: str


class Settle(NamedTuple):
    """Acknowledge a message that came on this connection. The answer says that the channel has handled it."""

    tag: int


Request: TypeAlias = Declare | Delete | Publish | Get | Settle


class Done(NamedTuple):
    """The request was done: the queue is there, or gone, or the channel has handled the acknowledgement."""


class Confirmed(NamedTuple):
    """The message was taken, as the queue's type has it; or it was not, ``taken`` false."""

    taken: bool


class Delivered(NamedTuple):
    """A message; the server says whether it may have been delivered before."""

    tag: int
    again: bool
    body: bytes


class Empty(NamedTuple):
    """There was no message."""


class Refused(NamedTuple):
    """The server closed the channel or the connection, or sent the message back: its code and its words."""

    code: int
    text: str
    returned: bool = False


Answer: TypeAlias = Done | Confirmed | Delivered | Empty | Refused


def short(text: str) -> bytes:
    """A short string."""
    data = text.encode()
    return bytes([len(data)]) + data


def table(fields: Mapping[str, str | int]) -> bytes:
    """A table of strings and numbers."""
    out = b""
    for name, value in fields.items():
        out += short(name)
        out += struct.pack(">cq", b"l", value) if isinstance(value, int) else _long(value.encode(), b"S")
    return _long(out)


def _long(data: bytes, kind: bytes = b"") -> bytes:
    return kind + struct.pack(">I", len(data)) + data


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """One frame."""
    return _HEAD.pack(kind, channel, len(payload)) + payload + bytes([_END])


def method(channel: int, which: tuple[int, int], arguments: bytes) -> bytes:
    """A method's frame."""
    return frame(_METHOD, channel, _ID.pack(*which) + arguments)


def content(channel: int, body: bytes) -> bytes:
    """The frames of a persistent message."""
    flags = 0x1000  # a delivery mode follows
    header = struct.pack(">HHQHB", _BASIC, 0, len(body), flags, PERSISTENT)
    return frame(_HEADER, channel, header) + (frame(_BODY, channel, body) if body else b"")


def greeting(user: str, password: str) -> bytes:
    """All that a client says to open a connection and a channel that confirms."""
    login = _long(f"\0{user}\0{password}".encode())
    return b"".join(
        (
            b"AMQP\x00\x00\x09\x01",
            method(0, (10, 11), table({"product": "chaos"}) + short("PLAIN") + login + short("en_US")),
            method(0, (10, 31), struct.pack(">HIH", 1, _FRAME_MAX, HEARTBEAT_S)),
            method(0, (10, 40), short("/") + short("") + b"\0"),
            method(1, (20, 10), short("")),
            method(1, (85, 10), b"\1"),
        )
    )


def encode(request: Request) -> bytes:
    """The frames of a request. Raises Malformed: it is too long for one frame."""
    if isinstance(request, Publish):
        if len(request.body) > _FRAME_MAX - 8:
            raise Malformed(f"a message of {len(request.body)} bytes")
        mandatory = b"\1"
        return method(1, (60, 40), b"\0\0" + short("") + short(request.queue) + mandatory) + content(1, request.body)
    if isinstance(request, Get):
        return method(1, (60, 70), b"\0\0" + short(request.queue) + b"\0")
    if isinstance(request, Settle):  # an ack has no answer, so something that has one follows on the same channel
        return method(1, ACK, struct.pack(">QB", request.tag, 0)) + method(1, (85, 10), b"\0")
    if isinstance(request, Declare):
        durable = b"\2"
        return method(1, (50, 10), b"\0\0" + short(request.queue) + durable + table(request.arguments))
    return method(1, (50, 40), b"\0\0" + short(request.queue) + b"\0")


class Amqp:
    """One connection's AMQP; implements ``cluster.systems._shared.link.Codec``."""

    def __init__(self, user: str = "guest", password: str = "guest") -> None:  # noqa: S107 - RabbitMQ's own default
        self._greeting = greeting(user, password)
        self._number = 0
        self._waits = False
        self._data = bytearray()
        self._method: tuple[tuple[int, int], bytes] | None = None
        self._missing = 0
        self._body = b""
        self._returned: Refused | None = None

    @property
    def greeting(self) -> bytes:
        """See ``greeting``."""
        return self._greeting

    def encode(self, number: int, request: Request) -> bytes:
        """The request; the next answer is its own."""
        data = encode(request)
        self._number, self._waits = number, True
        return data

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answer if it is whole now."""
        self._data += data
        out = []
        while (next_one := self._next_frame()) is not None:
            try:
                answer = self._answer(*next_one)
            except (struct.error, IndexError, UnicodeDecodeError) as error:
                raise Malformed(f"no AMQP: {error}") from None
            if answer is None:
                continue
            if not self._waits:
                raise Malformed(f"nobody asked for {answer}")
            self._waits = False
            out.append((self._number, answer))
        return out

    def _next_frame(self) -> tuple[int, bytes] | None:
        """The kind and the payload of the next whole frame."""
        if len(self._data) < _HEAD.size:
            return None
        if self._data[:4] == b"AMQP":
            raise Malformed("the server speaks another version of AMQP")
        kind, _, size = _HEAD.unpack_from(self._data)
        end = _HEAD.size + size
        if size > _FRAME_MAX:
            raise Malformed(f"a frame of {size} bytes")
        if len(self._data) <= end:
            return None
        if self._data[end] != _END:
            raise Malformed("a frame without its end")
        payload = bytes(self._data[_HEAD.size : end])
        del self._data[: end + 1]
        return kind, payload

    def _answer(self, kind: int, payload: bytes) -> Answer | None:
        """What a frame says to whoever waits; None if it says nothing, or not yet."""
        if kind == _HEARTBEAT:
            return None
        if kind == _METHOD:
            which = _ID.unpack_from(payload)
            arguments = payload[_ID.size :]
            if which in (GOT, RETURN):
                self._method = (which, arguments)
                return None
            return self._of_method(which, arguments)
        if kind == _HEADER:
            (self._missing,) = struct.unpack_from(">Q", payload, 4)
            self._body = b""
        elif kind == _BODY:
            self._body += payload
            self._missing -= len(payload)
        else:
            raise Malformed(f"a frame of kind {kind}")
        return self._of_content() if self._missing <= 0 else None

    def _of_method(self, which: tuple[int, int], arguments: bytes) -> Answer | None:
        if which in _HANDSHAKE:
            return None
        if which in (CLOSE, CHANNEL_CLOSE):
            (code,) = struct.unpack_from(">H", arguments)
            return Refused(code, _short_at(arguments, 2))
        if which in (ACK, NACK):
            returned, self._returned = self._returned, None
            return returned or Confirmed(taken=which == ACK)
        if which == NOTHING:
            return Empty()
        if which in (DECLARED, DELETED, SELECTED):
            return Done()
        raise Malformed(f"method {which[0]}.{which[1]}")

    def _of_content(self) -> Answer | None:
        """A message is whole: it was asked for, or it comes back, which its confirm will end."""
        if self._method is None:
            raise Malformed("content of no method")
        (which, arguments), self._method = self._method, None
        if which == RETURN:
            (code,) = struct.unpack_from(">H", arguments)
            self._returned = Refused(code, _short_at(arguments, 2), returned=True)
            return None
        tag, again = struct.unpack_from(">QB", arguments)
        return Delivered(tag, bool(again & 1), self._body)


def _short_at(data: bytes, at: int) -> str:
    length = data[at]
    return data[at + 1 : at + 1 + length].decode()
