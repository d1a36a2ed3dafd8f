"""Which of several values the reference checker picks: the first of a Clojure set.

Where an offset holds two values the version order needs one of them, and any choice is as good; the reference takes
the first in its hash set's order. The same choice makes indices, and so all that is counted in indices, comparable.
Source: Murmur3 for 64 bits as in ``clojure.lang.Murmur3``; a hash trie orders its entries by five bits at a time.
"""

from collections.abc import Iterable

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
