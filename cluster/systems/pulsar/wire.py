"""Pulsar's protocol on a connection: frames, commands, and messages with their checksum.

Clients here say that they speak version 0 of it, consumers version 1. To these a broker ends the connection when it
gives a topic away, instead of saying that one producer or reader is closed. Only from version 1 on does it send pings,
by which it notices a consumer that is gone. Source: PulsarApi.proto and the
page "Binary protocol" of Pulsar 4.0.
"""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from cluster.systems._shared.link import Malformed
from cluster.systems.kafka.records import crc32c
from cluster.systems.pulsar import outcomes
from cluster.systems.pulsar.positions import MessageId
from cluster.systems.pulsar.protobuf import Fields, Value, bytes_in, fields_of, message, number_in, text_in

CONNECT: Final = 2
CONNECTED: Final = 3
SUBSCRIBE: Final = 4
PRODUCER: Final = 5
SEND: Final = 6
SEND_RECEIPT: Final = 7
SEND_ERROR: Final = 8
MESSAGE: Final = 9
ACK: Final = 10
FLOW: Final = 11
SUCCESS: Final = 13
ERROR: Final = 14
PRODUCER_SUCCESS: Final = 17
PING: Final = 18
PONG: Final = 19
LOOKUP: Final = 23
LOOKUP_RESPONSE: Final = 24
LAST_ID: Final = 29
LAST_ID_RESPONSE: Final = 30
ACK_RESPONSE: Final = 38

_ASKED: Final[Mapping[int, int]] = MappingProxyType({PRODUCER: 3, SEND: 2, LOOKUP: 2, SUBSCRIBE: 5, LAST_ID: 2, ACK: 8})
"""Where the number of a request stands in its command."""
_ANSWERED: Final[Mapping[int, int]] = MappingProxyType(
    {SEND_RECEIPT: 2, SEND_ERROR: 2, SUCCESS: 1, ERROR: 1, PRODUCER_SUCCESS: 1, LOOKUP_RESPONSE: 4, LAST_ID_RESPONSE: 2}
)
"""Where it stands in the answer."""

_ERRORS: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {ERROR: (2, 3), SEND_ERROR: (3, 4), ACK_RESPONSE: (4, 5)}
)
"""Where the number of an error and its text stand in an answer."""

_WITH_CHECKSUM: Final = b"\x0e\x01"
_CHECKED_BYTES: Final = 6
_MOST_BYTES: Final = 64 << 20
_LENGTH: Final = struct.Struct(">I")
_ONLY: Final = 0
"""The one producer or reader of a connection."""
_CLIENT: Final = "chaos"
_NOBODYS: Final = -1
"""The number of an answer that nobody waits for."""


class Request(NamedTuple):
    """A command without its number, and what follows it. ``sequence``: the number that a send must have; -1: any."""

    kind: int
    fields: tuple[tuple[int, Value], ...]
    payload: bytes = b""
    sequence: int = -1


class Command(NamedTuple):
    """A command that came in, and what followed it."""

    kind: int
    fields: Fields
    payload: bytes = b""


_REDIRECT, _CONNECT, _FAILED = 0, 1, 2
_EXCLUSIVE, _SHARED, _NOT_DURABLE, _EARLIEST, _INDIVIDUAL = 0, 1, 0, 1, 0

HELLO: Final = Request(CONNECT, ((1, _CLIENT), (4, 0)))
HELLO_ALIVE: Final = Request(CONNECT, ((1, _CLIENT), (4, 1)))
"""Of a client that answers pings."""
STILL_HERE: Final = Request(PONG, ())


def producer(topic: str, name: str = "") -> Request:
    """Become the producer of a topic on this connection, by a name or by one that the broker gives."""
    return Request(PRODUCER, ((1, topic), (2, _ONLY), *([(4, name)] if name else [])))


def send(body: bytes, time_ms: int, sequence: int = -1) -> Request:
    """A message of the producer of this connection; ``sequence``: which of its messages it is."""
    described = message([(1, _CLIENT), (2, max(0, sequence)), (3, time_ms)])
    content = _LENGTH.pack(len(described)) + described + body
    return Request(SEND, ((1, _ONLY),), _WITH_CHECKSUM + _LENGTH.pack(crc32c(content)) + content, sequence)


def lookup(topic: str, *, authoritative: bool = False) -> Request:
    """Ask which broker owns a topic; ``authoritative``: another broker has chosen this one, which takes the topic."""
    return Request(LOOKUP, ((1, topic), (3, int(authoritative))))


class Lookup(NamedTuple):
    """What a broker says to a question who owns a topic. ``owns``: the address is the owner's, else to be asked next.

    ``authoritative``: how to ask there.
    """

    address: str
    owns: bool
    authoritative: bool


def lookup_in(answer: Command) -> Lookup | None:
    """The answer to such a question, None if the broker knows nobody. Raises Malformed."""
    said = number_in(answer.fields, 3, _FAILED)
    try:
        address = urlsplit(text_in(answer.fields, 1)).hostname
    except ValueError as error:
        raise Malformed(f"an address: {error}") from None
    if said not in (_REDIRECT, _CONNECT) or not address:
        return None
    return Lookup(address, said == _CONNECT, bool(number_in(answer.fields, 5)))


def read_from(topic: str, name: str, begin: MessageId) -> Request:
    """Become the reader of a topic on this connection, set at a message. What it has read is kept nowhere."""
    start = message([(1, begin.ledger), (2, begin.entry)])
    fields = ((1, topic), (2, name), (3, _EXCLUSIVE), (4, _ONLY), (8, _NOT_DURABLE), (9, start))
    return Request(SUBSCRIBE, fields)


def share(topic: str, name: str) -> Request:
    """Become one of the consumers of a Shared subscription, which begins at the topic's first message."""
    return Request(SUBSCRIBE, ((1, topic), (2, name), (3, _SHARED), (4, _ONLY), (13, _EARLIEST)))


def acknowledge(where: MessageId) -> Request:
    """Acknowledge one message of the consumer of this connection."""
    found = message([(1, where.ledger), (2, where.entry)])
    return Request(ACK, ((1, _ONLY), (2, _INDIVIDUAL), (3, found)))


def last_id() -> Request:
    """Ask for the last message of the reader's topic."""
    return Request(LAST_ID, ((1, _ONLY),))


def flow(permits: int) -> Request:
    """Let the reader or consumer be sent so many messages."""
    return Request(FLOW, ((1, _ONLY), (2, permits)))


def encode_request(number: int, request: Request) -> bytes:
    """The frame of a request under a number."""
    own = message([*request.fields, *([(_ASKED[request.kind], number)] if request.kind in _ASKED else [])])
    command = message([(1, request.kind), (request.kind, own)])
    size = _LENGTH.size + len(command) + len(request.payload)
    return _LENGTH.pack(size) + _LENGTH.pack(len(command)) + command + request.payload


def commands_in(data: bytearray) -> list[Command]:
    """Take the commands from the front of some bytes that are whole. Raises Malformed."""
    out = []
    while len(data) >= _LENGTH.size:
        (size,) = _LENGTH.unpack_from(data)
        if size > _MOST_BYTES:
            raise Malformed(f"a frame of {size} bytes")
        end = _LENGTH.size + size
        if len(data) < end:
            break
        frame = bytes(data[_LENGTH.size : end])
        del data[:end]
        if len(frame) < _LENGTH.size or (own := _LENGTH.unpack_from(frame)[0] + _LENGTH.size) > len(frame):
            raise Malformed("a frame that ends too soon")
        base = fields_of(frame[_LENGTH.size : own])
        kind = number_in(base, 1)
        out.append(Command(kind, fields_of(bytes_in(base, kind)), frame[own:]))
    return out


def body_of(payload: bytes) -> bytes:
    """The body of a message that was read. Raises Malformed."""
    at = _CHECKED_BYTES if payload.startswith(_WITH_CHECKSUM) else 0
    if len(payload) < at + _LENGTH.size:
        raise Malformed("a message that ends too soon")
    at += _LENGTH.unpack_from(payload, at)[0] + _LENGTH.size
    if len(payload) < at:
        raise Malformed("a message that ends too soon")
    return payload[at:]


def id_in(fields: Fields, number: int) -> MessageId:
    """A field that is a message id. Raises Malformed."""
    found = fields_of(bytes_in(fields, number))
    return MessageId(number_in(found, 1, -1), number_in(found, 2, -1))


def message_in(command: Command) -> tuple[MessageId, bytes]:
    """A message that a reader or consumer was sent. Raises Malformed."""
    return id_in(command.fields, 2), body_of(command.payload)


def redeliveries_in(command: Command) -> int:
    """How often a message was given to consumers before. Raises Malformed."""
    return number_in(command.fields, 3)


def error_in(answer: Command) -> outcomes.Refusal | None:
    """The error that an answer says, whatever was asked; None if it says none. Raises Malformed."""
    code, said = _ERRORS.get(answer.kind, (0, 0))
    if code not in answer.fields:
        return None
    return outcomes.Refusal(number_in(answer.fields, code), text_in(answer.fields, said))


class Wire:
    """One connection's protocol; implements ``cluster.systems._shared.link.Codec``."""

    greeting = b""

    def __init__(self) -> None:
        self._hello = 0
        self._sequences: dict[int, int] = {}
        self._data = bytearray()

    def encode(self, number: int, request: Request) -> bytes:
        """The frame of a request. A send that has a number of its own is answered under that one."""
        if request.kind == CONNECT:
            self._hello = number
        if request.sequence >= 0:
            self._sequences = {request.sequence: number}
            return encode_request(request.sequence, request)
        return encode_request(number, request)

    def feed(self, data: bytes) -> list[tuple[int, Command]]:
        """The answers that are whole now. Raises Malformed."""
        self._data += data
        out = []
        for command in commands_in(self._data):
            if command.kind == CONNECTED:
                out.append((self._hello, command))
            elif command.kind in _ANSWERED:
                number = number_in(command.fields, _ANSWERED[command.kind])
                if self._sequences and command.kind in (SEND_RECEIPT, SEND_ERROR):
                    number = self._sequences.get(number, _NOBODYS)
                out.append((number, command))
        return out
