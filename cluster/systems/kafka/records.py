"""Batches of records, as they are in requests, in answers and in Kafka's logs (format 2). Pure.

Source: ``DefaultRecordBatch`` and ``DefaultRecord`` of Kafka 4.3. Batches are not compressed here. The checksum of a
batch that comes in is not looked at: a message of the harness proves itself.
"""

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from cluster.systems._shared.link import Malformed
from cluster.systems.kafka.wire import Reader, signed

NO_PRODUCER: Final = -1
_HEAD: Final = struct.Struct(">qiib")  # first offset, bytes that follow, epoch of the leader, format
_BODY: Final = struct.Struct(">hiqqqhii")  # attributes, last offset, first time, last time, producer, epoch, sequence
_AFTER_LENGTH: Final = 12
_FORMAT: Final = 2
_COMPRESSED: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_POLYNOMIAL: Final = 0x82F63B78


def _table() -> tuple[int, ...]:
    out = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        out.append(value)
    return tuple(out)


_TABLE: Final = _table()


def crc32c(data: bytes) -> int:
    """The checksum of Castagnoli (RFC 3720, B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Producer(NamedTuple):
    """Under whose number a batch is sent, and the number of its first record. None of it: an ordinary send."""

    number: int = NO_PRODUCER
    epoch: int = -1
    sequence: int = -1
    transactional: bool = False


ANONYMOUS: Final = Producer()
"""Who sends ordinary messages."""


class Found(NamedTuple):
    """One record in a log. ``producer``: who sent it, if it is part of a transaction; else ``NO_PRODUCER``."""

    offset: int
    body: bytes
    producer: int = NO_PRODUCER


class Marker(NamedTuple):
    """Where a producer's transaction ended."""

    offset: int
    producer: int
    committed: bool


class Batches(NamedTuple):
    """What some bytes of a log hold, and the offset behind their last whole batch; None without one."""

    records: list[Found]
    markers: list[Marker]
    next_offset: int | None


def batch(body: bytes, time_ms: int, producer: Producer = ANONYMOUS) -> bytes:
    """A batch of one record."""
    record = b"\0" + signed(0) + signed(0) + signed(-1) + signed(len(body)) + body + signed(0)
    attributes = _TRANSACTIONAL if producer.transactional else 0
    content = _BODY.pack(attributes, 0, time_ms, time_ms, producer.number, producer.epoch, producer.sequence, 1)
    content += signed(len(record)) + record
    rest = struct.pack(">ibI", -1, _FORMAT, crc32c(content)) + content
    return struct.pack(">qi", 0, len(rest)) + rest


def batches(data: bytes, begin: int) -> Batches:
    """The records from an offset on. The last batch may be cut off, and is left out then.

    Raises:
        Malformed: a batch is none.
    """
    records: list[Found] = []
    markers: list[Marker] = []
    following, at = None, 0
    while at + _HEAD.size <= len(data):
        first, length, _, form = _HEAD.unpack_from(data, at)
        end = at + _AFTER_LENGTH + length
        if length < _HEAD.size or form != _FORMAT:
            raise Malformed(f"a batch of format {form} and {length} bytes")
        if end > len(data):
            break
        following = _one(Reader(data[:end], at + _HEAD.size + 4), first, begin, records, markers)
        at = end
    return Batches(records, markers, following)


def _one(reader: Reader, first: int, begin: int, records: list[Found], markers: list[Marker]) -> int:
    """Read one batch; the offset behind it. Raises Malformed."""
    attributes, last, _, _, number, _, _, count = _BODY.unpack(reader.take(_BODY.size))
    if attributes & _COMPRESSED:
        raise Malformed("a compressed batch")
    for _ in range(count):
        record = Reader(reader.take(reader.signed()))
        record.int8()
        record.signed()
        offset = first + record.signed()
        key = record.take(max(0, record.signed()))
        body = record.take(max(0, record.signed()))
        if attributes & _CONTROL:
            if len(key) >= 4 and key[:2] == b"\0\0":  # noqa: PLR2004 - version and kind
                markers.append(Marker(offset, number, committed=key[3] == 1))
        elif offset >= begin:
            records.append(Found(offset, body, number if attributes & _TRANSACTIONAL else NO_PRODUCER))
    return int(first + last + 1)


def without_aborted(found: Batches, aborted: Iterable[tuple[int, int]]) -> list[Found]:
    """The records that no aborted transaction sent; ``aborted``: producers, and where a transaction of each begins."""
    ends = {(marker.producer, marker.offset) for marker in found.markers if not marker.committed}

    def is_aborted(record: Found) -> bool:
        begins = [first for producer, first in aborted if producer == record.producer and first <= record.offset]
        if record.producer == NO_PRODUCER or not begins:
            return False
        return not any(who == record.producer and max(begins) < end < record.offset for who, end in ends)

    return [record for record in found.records if not is_aborted(record)]
