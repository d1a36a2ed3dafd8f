"""The body of every message that the harness sends: a value that proves itself.

A body carries a magic number, the run, the queue, the value and a CRC-32 over all of it, padding included. So a read
can tell three things apart that a bare counter cannot: our value, a damaged one, and a message of somebody else's
(another run, another queue). A damaged body is None.
"""

import struct
import zlib
from typing import Final

from chaos.core.errors import UsageError
from chaos.models.log.words import Value

MAGIC: Final = b"CHS1"
_LAYOUT: Final = struct.Struct(">4sIQiIQ")  # magic, CRC of what follows, run, key, writer, sequence
_CRC_FROM: Final = 8
MIN_BYTES: Final = _LAYOUT.size
_FILLER: Final = b"."


def encode(value: Value, key: int, run: int, size_bytes: int = 0) -> bytes:
    """The body of ``value`` for queue ``key`` of the run with hash ``run``.

    Args:
        value: writer below 2^32, sequence below 2^64.
        key: the queue.
        run: ``chaos.basics.rand.run_hash`` of the run's id.
        size_bytes: length of the body; anything below ``MIN_BYTES`` means ``MIN_BYTES``.

    Raises:
        UsageError: the value does not fit the format.
    """
    try:
        body = bytearray(_LAYOUT.pack(MAGIC, 0, run, key, value.writer, value.sequence))
    except struct.error:
        raise UsageError(f"value {value} of queue {key} does not fit a message body") from None
    body += _FILLER * (size_bytes - len(body))
    struct.pack_into(">I", body, 4, zlib.crc32(memoryview(body)[_CRC_FROM:]))
    return bytes(body)


def decode(body: bytes, key: int, run: int) -> Value | None:
    """The value in ``body``, or None if it is damaged or was not sent to this queue of this run."""
    if len(body) < MIN_BYTES:
        return None
    magic, crc, body_run, body_key, writer, sequence = _LAYOUT.unpack_from(body)
    if magic != MAGIC or body_run != run or body_key != key or crc != zlib.crc32(body[_CRC_FROM:]):
        return None
    return Value(writer, sequence)
