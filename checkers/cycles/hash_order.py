"""The orders in which the reference checker walks its hash sets and hash maps.

Where an offset holds two values the version order needs one of them, and any choice is as good; the reference takes
the first in its hash set's order. The same choice makes indices, and so all that is counted in indices, comparable.
Where it searches a graph for a circle, the order of its graph's maps decides which one it meets first.
Sources: Murmur3 for 64 bits as in ``clojure.lang.Murmur3``; a hash trie orders its entries by five bits at a time.
``io.lacuna.bifurcan.Map`` mixes the bits once more, and lists the entries of a node before those below it.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

Value = TypeVar("Value")

_M = 0xFFFFFFFF


def _rotated(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (32 - bits))) & _M


def _hash(value: int) -> int:
    """Clojure's hash of an integer of 64 bits, as an unsigned number."""
    if value == 0:
        return 0
    h = 0
    for half in (value & _M, (value >> 32) & _M):
        k = _rotated(half * 0xCC9E2D51 & _M, 15) * 0x1B873593 & _M
        h = (_rotated(h ^ k, 13) * 5 + 0xE6546B64) & _M
    h ^= 8
    h = (h ^ (h >> 16)) * 0x85EBCA6B & _M
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & _M
    return h ^ (h >> 16)


def _path(value: int) -> tuple[int, ...]:
    h = _hash(value)
    return tuple((h >> shift) & 31 for shift in range(0, 35, 5))


def first_of(values: Iterable[int]) -> int:
    """The value that comes first in a Clojure set of these."""
    return min(values, key=_path)


def _mixed(value: int) -> int:
    """Bifurcan's hash of a record with this index."""
    h = _hash(value)
    h ^= _M if h >> 31 else 0  # the upper half of a negative number, extended to 64 bits
    h ^= (h >> 20) ^ (h >> 12)
    return h ^ (h >> 7) ^ (h >> 4)


def as_mapped(values: Mapping[int, Value]) -> list[Value]:
    """The values in the order in which a map of Bifurcan lists them.

    Args:
        values: by the index of the record that is their key.
    """
    return _listed([(_mixed(index), value) for index, value in values.items()], 0)


def _listed(entries: list[tuple[int, Value]], shift: int) -> list[Value]:
    if shift > 30:  # noqa: PLR2004 - no bits are left: the same hash
        return [value for _, value in entries]
    slots: dict[int, list[tuple[int, Value]]] = {}
    for entry in entries:
        slots.setdefault((entry[0] >> shift) & 31, []).append(entry)
    ordered = [slots[slot] for slot in sorted(slots)]
    out = [slot[0][1] for slot in ordered if len(slot) == 1]
    for slot in ordered:
        if len(slot) > 1:
            out += _listed(slot, shift + 5)
    return out
