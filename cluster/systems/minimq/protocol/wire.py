"""How nodes and clients talk: frames of msgpack over TCP, as pure functions over bytes.

A frame is the length of what follows (4 bytes, big-endian) and one msgpack value. Whoever opens a connection sends a
``Hello`` first. A node's connection then carries its messages one way, and whatever is lost with the connection is
lost. A client's connection carries ``Call`` frames, answered by ``Back`` frames with the same number in any order.
``docs/systems/minimq.md`` describes the same for people who write clients. Does not own sockets.
"""

import struct
from typing import Any, Final, Generic, TypeVar

import msgspec

from cluster.systems.minimq.protocol.broker_messages import BrokerAnswer, BrokerRequest, ReplicaMessage
from cluster.systems.minimq.protocol.messages import (
    Answer,
    Ask,
    ControllerAnswer,
    ControllerRequest,
    GetSettings,
    MetadataPush,
    RaftMessage,
    Settings,
)

FRAME_BYTES_MAX: Final = 16 << 20
PORT: Final = 7400
PROTOCOL: Final = 1

_LENGTH: Final = struct.Struct(">I")


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first frame of a connection. ``node``: which node sends from here, None for a client."""

    node: str | None = None
    protocol: int = PROTOCOL


class Call(msgspec.Struct, frozen=True, array_like=True):
    """A client's request under a number that it chose; answered once."""

    number: int
    body: ControllerRequest | BrokerRequest | GetSettings


class Back(msgspec.Struct, frozen=True, array_like=True):
    """The answer to the ``Call`` of this number on this connection."""

    number: int
    body: ControllerAnswer | BrokerAnswer | Settings


NodeMessage = RaftMessage | Ask | Answer | MetadataPush | ReplicaMessage

_T = TypeVar("_T")


class WireError(Exception):
    """The bytes are not frames of this protocol: which bound or format they break."""


class Frames(Generic[_T]):
    """Turns the bytes of one connection into values of one type."""

    def __init__(self, kind: object) -> None:
        self._decoder: msgspec.msgpack.Decoder[_T] = msgspec.msgpack.Decoder(kind)
        self._bytes = bytearray()

    def feed(self, data: bytes | memoryview, count_max: int | None = None) -> list[_T]:
        """The values that are whole now, or the first ``count_max`` of them.

        Raises:
            WireError: a frame is too long, or is not what may come here.
        """
        held = self._bytes
        held += data
        at = 0
        values: list[_T] = []
        while len(held) - at >= _LENGTH.size and len(values) != count_max:
            (length,) = _LENGTH.unpack_from(held, at)
            if length > FRAME_BYTES_MAX:
                raise WireError(f"a frame of {length} bytes; at most {FRAME_BYTES_MAX} are taken")
            end = at + _LENGTH.size + length
            if end > len(held):
                break
            try:
                values.append(self._decoder.decode(bytes(held[at + _LENGTH.size : end])))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise WireError(str(error)) from None
            at = end
        del held[:at]
        return values

    def then(self, kind: object) -> "Frames[Any]":
        """The same connection from here on, with values of another type; this one is at its end."""
        following: Frames[Any] = Frames(kind)
        following._bytes = self._bytes
        return following


_encoder: Final = msgspec.msgpack.Encoder()


def frame(value: msgspec.Struct) -> bytes:
    """The bytes of one frame.

    Raises:
        WireError: it is longer than a receiver takes.
    """
    payload = _encoder.encode(value)
    if len(payload) > FRAME_BYTES_MAX:
        raise WireError(f"a frame of {len(payload)} bytes; at most {FRAME_BYTES_MAX} are taken")
    return _LENGTH.pack(len(payload)) + payload
