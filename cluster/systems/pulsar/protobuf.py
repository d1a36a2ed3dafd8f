"""Protocol buffers as far as Pulsar's commands need them: numbers, texts, bytes and messages inside messages."""

from collections.abc import Iterable
from typing import Final

from cluster.systems._shared.link import Malformed

Value = int | str | bytes
Fields = dict[int, int | bytes]
"""What a message holds, by the number of the field; the last one where it is there several times."""

_SEVEN: Final = 0x7F
_MORE: Final = 0x80
_64_BITS: Final = (1 << 64) - 1
_SIGN: Final = 1 << 63
_VARINT: Final = 0
_FIXED: Final = {1: 8, 5: 4}
_BYTES: Final = 2
_MOST_SHIFT: Final = 63


def varint(value: int) -> bytes:
    """A number of seven bits a byte, the lowest first; a negative one takes ten bytes."""
    value &= _64_BITS
    out = bytearray()
    while value > _SEVEN:
        out.append(value & _SEVEN | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(fields: Iterable[tuple[int, Value]]) -> bytes:
    """The bytes of a message with these fields, in this order."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3 | _VARINT) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | _BYTES) + varint(len(data)) + data
    return bytes(out)


def fields_of(data: bytes) -> Fields:
    """The fields of a message, numbers as they are without a sign. Raises Malformed: it is none."""
    out: Fields = {}
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        kind = key & 7
        if kind == _VARINT:
            out[key >> 3], at = _number(data, at)
            continue
        size = _FIXED.get(kind, 0)
        if kind == _BYTES:
            size, at = _number(data, at)
        elif not size:
            raise Malformed(f"a field of the kind {kind}")
        if at + size > len(data):
            raise Malformed("a message that ends too soon")
        out[key >> 3], at = data[at : at + size], at + size
    return out


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends. Raises Malformed."""
    value = shift = 0
    while at < len(data) and shift <= _MOST_SHIFT:
        value |= (data[at] & _SEVEN) << shift
        at += 1
        if not data[at - 1] & _MORE:
            return value & _64_BITS, at
        shift += 7
    raise Malformed("a number that does not end")


def number_in(fields: Fields, number: int, default: int = 0) -> int:
    """A field that is a number with a sign; ``default`` where it is not there. Raises Malformed: it is no number."""
    found = fields.get(number, default)
    if not isinstance(found, int):
        raise Malformed(f"field {number} is no number")
    return found - (1 << 64) if found & _SIGN and found > 0 else found


def text_in(fields: Fields, number: int) -> str:
    """A field that is a text, empty where it is not there. Raises Malformed: it is none."""
    return bytes_in(fields, number).decode(errors="replace")


def bytes_in(fields: Fields, number: int) -> bytes:
    """A field that is bytes, empty where it is not there. Raises Malformed: it is none."""
    found = fields.get(number, b"")
    if isinstance(found, int):
        raise Malformed(f"field {number} is a number")
    return found
