"""RocketMQ's wire as its servers write it: answers and stored messages, for tests of what reads them."""

import struct
import zlib
from collections.abc import Iterable

import msgspec

from cluster.systems.rocketmq.protocol import (
    _BODY_HEAD,
    _LENGTHS,
    _MAGIC_V1,
    _MESSAGE_HEAD,
    _RESPONSE,
    Answer,
    Message,
    encode_properties,
)


def encode_answer(answer: Answer) -> bytes:
    """An answer frame, as a server would write it."""
    header = msgspec.json.encode(
        {
            "code": answer.code,
            "flag": _RESPONSE if answer.response else 0,
            "language": "JAVA",
            "opaque": answer.opaque,
            "remark": answer.remark,
            "extFields": dict(answer.fields),
            "serializeTypeCurrentRPC": "JSON",
            "version": 501,
        }
    )
    return _LENGTHS.pack(4 + len(header) + len(answer.body), len(header)) + header + answer.body


def encode_messages(messages: Iterable[Message]) -> bytes:
    """Messages as a broker stores them (version 1, IPv4): what ``decode_messages`` reads."""
    out = bytearray()
    for message in messages:
        topic, properties = message.topic.encode(), encode_properties(message.properties).encode()
        crc = zlib.crc32(message.body) & 0x7FFFFFFF ^ (0 if message.intact else 0x5A5A5A5A)
        fixed = _MESSAGE_HEAD.size + 24 + _BODY_HEAD.size + 3
        total = fixed + len(message.body) + len(topic) + len(properties)
        out += _MESSAGE_HEAD.pack(total, _MAGIC_V1, crc, message.queue, 0, message.offset, message.position, 0, 0)
        out += bytes(24) + _BODY_HEAD.pack(message.reconsumed, 0, len(message.body)) + message.body
        out += bytes([len(topic)]) + topic + struct.pack(">h", len(properties)) + properties
    return bytes(out)
