"""RocketMQ's remoting frames and stored messages as pure functions over bytes.

A frame is: total length (4 bytes), serialisation and header length (1 + 3 bytes), a JSON header ``{code, flag, opaque,
language, version, remark, extFields}``, a body. Answers come in the serialisation of their request, so JSON is all that
is spoken here. Does not guess: a frame or a message that does not parse to its last byte is a ``ProtocolError``.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

import msgspec


class Request(IntEnum):
    """Request codes of the remoting protocol that this client speaks."""

    PULL_MESSAGE = 11
    QUERY_CONSUMER_OFFSET = 14
    UPDATE_CONSUMER_OFFSET = 15
    UPDATE_AND_CREATE_TOPIC = 17
    GET_ALL_TOPIC_CONFIG = 21
    GET_BROKER_CONFIG = 26
    GET_BROKER_RUNTIME_INFO = 28
    GET_MAX_OFFSET = 30
    GET_MIN_OFFSET = 31
    HEART_BEAT = 34
    END_TRANSACTION = 37
    CHECK_TRANSACTION_STATE = 39
    GET_ROUTEINFO_BY_TOPIC = 105
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200
    DELETE_SUBSCRIPTIONGROUP = 207
    DELETE_TOPIC_IN_BROKER = 215
    DELETE_TOPIC_IN_NAMESRV = 216
    SEND_MESSAGE_V2 = 310
    GET_NAMESRV_CONFIG = 319
    EXCHANGE_BROKER_HA_INFO = 906
    GET_BROKER_HA_STATUS = 907
    CONTROLLER_GET_METADATA_INFO = 1005
    CONTROLLER_GET_SYNC_STATE_DATA = 1006
    GET_BROKER_EPOCH_CACHE = 1007
    GET_CONTROLLER_CONFIG = 1010
    DLEDGER_METADATA = 50000
    DLEDGER_HEART_BEAT = 51002
    POP_MESSAGE = 200050
    ACK_MESSAGE = 200051
    CHANGE_MESSAGE_INVISIBLETIME = 200053


class Code(IntEnum):
    """Response codes that mean something to this client."""

    SUCCESS = 0
    SYSTEM_ERROR = 1
    SYSTEM_BUSY = 2
    REQUEST_CODE_NOT_SUPPORTED = 3
    FLUSH_DISK_TIMEOUT = 10
    SLAVE_NOT_AVAILABLE = 11
    FLUSH_SLAVE_TIMEOUT = 12
    MESSAGE_ILLEGAL = 13
    SERVICE_NOT_AVAILABLE = 14
    NO_PERMISSION = 16
    TOPIC_NOT_EXIST = 17
    PULL_NOT_FOUND = 19
    PULL_RETRY_IMMEDIATELY = 20
    PULL_OFFSET_MOVED = 21
    QUERY_NOT_FOUND = 22
    SUBSCRIPTION_GROUP_NOT_EXIST = 26
    INVALID_PARAMETER = 29
    NO_MESSAGE = 208
    POLLING_FULL = 209
    POLLING_TIMEOUT = 210
    CONTROLLER_NOT_LEADER = 2007


class ProtocolError(Exception):
    """Bytes that are not what the protocol says."""


MAX_FRAME_BYTES: Final = 16 << 20  # the server's own limit (com.rocketmq.remoting.frameMaxLength)
_RESPONSE: Final = 1
_JSON: Final = 0
_VERSION: Final = 477  # what a 5.x client says; servers compare it with old versions only
_LENGTHS: Final = struct.Struct(">II")


class _RequestHeader(msgspec.Struct):
    code: int
    opaque: int
    extFields: dict[str, str]  # noqa: N815 - the protocol's spelling
    flag: int = 0
    language: str = "OTHER"
    version: int = _VERSION
    serializeTypeCurrentRPC: str = "JSON"  # noqa: N815


class _AnswerHeader(msgspec.Struct):
    code: int
    opaque: int
    flag: int = 0
    remark: str | None = None
    extFields: dict[str, str] | None = None  # noqa: N815


class Answer(NamedTuple):
    """One frame that came in. ``response`` false: the server asks something of its own."""

    code: int
    opaque: int
    response: bool
    remark: str
    fields: Mapping[str, str]
    body: bytes


_encode_header = msgspec.json.Encoder().encode
_decode_header = msgspec.json.Decoder(_AnswerHeader).decode


def encode_request(code: int, opaque: int, fields: Mapping[str, object], body: bytes = b"") -> bytes:
    """A request frame. Booleans become "true"/"false", everything else its ``str``."""
    ext = {name: _text(value) for name, value in fields.items()}
    header = _encode_header(_RequestHeader(code=code, opaque=opaque, extFields=ext))
    return _LENGTHS.pack(4 + len(header) + len(body), _JSON << 24 | len(header)) + header + body


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, IntEnum) else str(value)


class FrameBuffer:
    """Cuts a byte stream into frames, however the network sliced it."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Answer]:
        """Add bytes; returns the frames that are whole now.

        Raises:
            ProtocolError: the stream is not one of frames; it cannot be used any further.
        """
        self._data += data
        answers = []
        position = 0
        while len(self._data) - position >= _LENGTHS.size:
            total, marked = _LENGTHS.unpack_from(self._data, position)
            if not _LENGTHS.size - 4 <= total <= MAX_FRAME_BYTES:
                raise ProtocolError("frame of impossible length")
            end = position + 4 + total
            if len(self._data) < end:
                break
            answers.append(_decode_answer(bytes(self._data[position + 8 : end]), marked))
            position = end
        del self._data[:position]
        return answers


def _decode_answer(content: bytes, marked: int) -> Answer:
    serialisation, length = marked >> 24, marked & 0xFFFFFF
    if serialisation != _JSON or length > len(content):
        raise ProtocolError("frame with a header that is not JSON or longer than the frame")
    try:
        header = _decode_header(content[:length])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ProtocolError("frame with a header that does not parse") from None
    return Answer(
        header.code,
        header.opaque,
        bool(header.flag & _RESPONSE),
        header.remark or "",
        header.extFields or {},
        content[length:],
    )


def encode_properties(properties: Mapping[str, str]) -> str:
    """Message properties in the wire's own notation: name, 0x01, value, 0x02, again and again."""
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items())


def decode_properties(text: str) -> dict[str, str]:
    """The reverse of ``encode_properties``; entries without a separator are left out, as the servers do."""
    pairs = (entry.split("\x01", 1) for entry in text.split("\x02"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}  # noqa: PLR2004 - a name and a value


class Message(NamedTuple):
    """A stored message. ``intact`` false: the broker's own CRC does not fit the body.

    ``reconsumed``: how often it has been put where it is read again.
    """

    topic: str
    queue: int
    offset: int
    position: int
    body: bytes
    intact: bool
    properties: Mapping[str, str]
    reconsumed: int = 0


# total, magic, body CRC, queue, flag, queue offset, physical offset, system flag, born timestamp
_MESSAGE_HEAD: Final = struct.Struct(">iIIiiqqiq")
_MAGIC_V1: Final = 0xDAA320A7  # topic length in one byte
_MAGIC_V2: Final = 0xDAA320AB  # topic length in two
_BORN_V6: Final = 16
_STORE_V6: Final = 32
_HOST_BYTES: Final = {False: 8, True: 20}  # address and port
_BODY_HEAD: Final = struct.Struct(">iqi")  # reconsume times, prepared transaction offset, body length


def decode_messages(data: bytes) -> Iterator[Message]:
    """The messages of a pull answer's body, one after another.

    Raises:
        ProtocolError: a length or a magic number is wrong; nothing from there on can be trusted.
    """
    position = 0
    while position < len(data):
        try:
            message, position = _decode_message(data, position)
        except (struct.error, UnicodeDecodeError, IndexError):
            raise ProtocolError("stored message that does not parse") from None
        yield message


def _decode_message(data: bytes, start: int) -> tuple[Message, int]:
    total, magic, crc, queue, _, offset, physical, system, _ = _MESSAGE_HEAD.unpack_from(data, start)
    at = start + _MESSAGE_HEAD.size + _HOST_BYTES[bool(system & _BORN_V6)] + 8 + _HOST_BYTES[bool(system & _STORE_V6)]
    reconsumed, _, body_length = _BODY_HEAD.unpack_from(data, at)
    at += _BODY_HEAD.size
    body = data[at : at + body_length]
    at += body_length
    if magic == _MAGIC_V1:
        topic_length = data[at]
        at += 1
    elif magic == _MAGIC_V2:
        (topic_length,) = struct.unpack_from(">h", data, at)
        at += 2
    else:
        raise ProtocolError("stored message with an unknown magic number")
    topic = data[at : at + topic_length].decode()
    at += topic_length
    (properties_length,) = struct.unpack_from(">h", data, at)
    at += 2
    properties = data[at : at + properties_length].decode()
    at += properties_length
    if at != start + total or at > len(data) or min(body_length, topic_length, properties_length) < 0:
        raise ProtocolError("stored message whose parts do not add up to its length")
    intact = crc in (0, zlib.crc32(body) & 0x7FFFFFFF)  # 0: the broker was told not to compute it
    decoded = decode_properties(properties)
    return Message(topic, queue, offset, physical, body, intact, decoded, reconsumed), at
