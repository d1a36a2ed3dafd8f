"""Puts other bytes into the files of a stream of a NATS server that is down, under checksums that are right.

A record (``server/filestore.go`` of NATS 2.9, little-endian) has its length, sequence, time, subject and body, and ends
with the HighwayHash-64 of all but the lengths, under the key SHA-256 of the stream's name and the file's number.
"""

import hashlib
import struct

_HEAD = struct.Struct("<IQqH")
_HAS_HEADERS = 1 << 31
_MASK = (1 << 64) - 1
_MUL0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
_MUL1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)


def alter(folder, stream, old, new):
    """Replace ``old`` by ``new``, as long, in all records of a stream's folder; how many were altered."""
    assert len(old) == len(new)
    altered = 0
    for path in sorted((folder / "msgs").glob("*.blk")):
        key = hashlib.sha256(f"{stream}-{path.stem}".encode()).digest()
        data, at = bytearray(path.read_bytes()), 0
        while at + _HEAD.size < len(data):
            length = _HEAD.unpack_from(data, at)[0]
            if length & _HAS_HEADERS or not _HEAD.size < length <= len(data) - at:
                raise AssertionError(f"no record at {at} of {path}")
            record = bytes(data[at : at + length - 8])
            assert data[at + length - 8 : at + length] == _sum(key, record), "the checksum is what this module makes"
            other = record.replace(old, new)
            if other != record:
                altered += 1
                data[at : at + length] = other + _sum(key, other)
            at += length
        path.write_bytes(data)
    for index in [*(folder / "msgs").glob("*.idx"), *(folder / "msgs").glob("*.fss")]:
        index.unlink()  # the server makes them anew of the records
    return altered


def _sum(key, record):
    size = _HEAD.unpack_from(record)[3]
    subject = record[_HEAD.size : _HEAD.size + size]
    return struct.pack("<Q", highway_hash(key, record[4:20] + subject + record[_HEAD.size + size :]))


def highway_hash(key, data):
    """HighwayHash-64 (github.com/google/highwayhash)."""
    words = struct.unpack("<4Q", key)
    state = [
        [one ^ word for one, word in zip(_MUL0, words, strict=True)],
        [one ^ _turned(word) for one, word in zip(_MUL1, words, strict=True)],
        list(_MUL0),
        list(_MUL1),
    ]
    whole = len(data) // 32 * 32
    for at in range(0, whole, 32):
        _update(state, struct.unpack_from("<4Q", data, at))
    if len(data) > whole:
        _remainder(state, data[whole:])
    for _ in range(4):
        v0 = state[0]
        _update(state, (_turned(v0[2]), _turned(v0[3]), _turned(v0[0]), _turned(v0[1])))
    return sum(lane[0] for lane in state) & _MASK


def _turned(word):
    return ((word >> 32) | (word << 32)) & _MASK


def _update(state, lanes):
    v0, v1, mul0, mul1 = state
    for i in range(4):
        v1[i] = (v1[i] + mul0[i] + lanes[i]) & _MASK
        mul0[i] ^= (v1[i] & 0xFFFFFFFF) * (v0[i] >> 32)
        v0[i] = (v0[i] + mul1[i]) & _MASK
        mul1[i] ^= (v0[i] & 0xFFFFFFFF) * (v1[i] >> 32)
    for into, of in ((v0, v1), (v1, v0)):
        for i in (0, 2):
            low, high = _zipped(of[i], of[i + 1])
            into[i] = (into[i] + low) & _MASK
            into[i + 1] = (into[i + 1] + high) & _MASK


def _zipped(low, high):
    """Bytes of two words, mixed."""
    data = struct.pack("<QQ", low, high)
    order = (3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7)
    return struct.unpack("<QQ", bytes(data[i] for i in order))


def _remainder(state, rest):
    v0, v1, *_ = state
    size = len(rest)
    for i in range(4):
        v0[i] = (v0[i] + (size << 32) + size) & _MASK
        halves = (v1[i] & 0xFFFFFFFF, v1[i] >> 32)
        low, high = (((half << size) | (half >> (32 - size))) & 0xFFFFFFFF for half in halves)
        v1[i] = low | high << 32
    packet, tail = bytearray(32), size % 4
    packet[: size - tail] = rest[: size - tail]
    if size & 16:
        packet[28:] = rest[size - 4 :]
    elif tail:
        last = rest[size - tail :]
        packet[16:19] = bytes((last[0], last[tail >> 1], last[tail - 1]))
    _update(state, struct.unpack("<4Q", packet))
