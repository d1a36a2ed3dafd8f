"""Text of Kafka-style histories as tokens: columns of what stands where, by a handful of vector operations.

A ``Notation`` says which bytes are what. In JSON colons and quotes are blanks to the tokens, so that both notations
have the same ones; ``json_punctuation`` looks at what that hides.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chaos.formats.kafka_columns import NONE, Ids, Ints

Words = npt.NDArray[np.uint64]
Tokens = npt.NDArray[np.signedinteger[Any]]
Mask = npt.NDArray[np.bool_]

BLANK, WORD, LINE, OPEN, CLOSE, OPEN_MAP, CLOSE_MAP = range(7)
MARGIN: Final = 24  # so that a load before the first or behind the last byte stays inside
_LOAD: Final = 8  # bytes, or digits, at once
_DIGITS: Final = 19  # of the longest integer of 64 bits
_HIGHEST: Final = np.uint64(921)  # the first three of 19 digits that fit into 64 bits whatever follows
_STEP: Final = np.array([0, 0, 0, 1, -1, 1, -1], dtype=np.int8)
_LOW: Final = np.array([(1 << 8 * n) - 1 for n in range(8)] + [(1 << 64) - 1], dtype=np.uint64)

KEYS: Final = ("index", "time", "type", "process", "f", "value")
NAMES: Final = (
    *KEYS,
    "seek-to-beginning?",
    "rebalance-log",
    "invoke",
    "ok",
    "fail",
    "info",
    "send",
    "poll",
    "txn",
    "assign",
    "subscribe",
    "crash",
    "r",
    "w",
    "append",
)
NO_NAME: Final = len(NAMES)
_SUBSCRIBE: Final = NAMES.index("subscribe")
_SUBSCRIBE_TAIL: Final = np.uint64(int.from_bytes(b"ubscribe", "little"))


def _code(word: str) -> int:
    return int.from_bytes(word.encode()[:_LOAD], "little")


class Notation:
    """How a notation writes what histories are made of.

    ``odd``: bytes that mean something beyond words, so that a line with one is for the general reader.
    """

    def __init__(self, *, sigil: str, blank: bytes, odd: bytes, nil: str) -> None:
        self.odd = odd
        self.nil = np.uint64(_code(nil))
        self.classes = np.full(256, WORD, dtype=np.uint8)
        self.classes[list(blank)] = BLANK
        self.classes[list(b"\n[]{}")] = [LINE, OPEN, CLOSE, OPEN_MAP, CLOSE_MAP]
        names = [sigil + name for name in NAMES]
        self.codes = np.array([*map(_code, names), 0], dtype=np.uint64)
        self.lengths = np.array([*map(len, names), 0], dtype=np.int32)
        self.multiplier, self.places = _perfect(self.codes[:-1])


def _perfect(codes: Words) -> tuple[np.uint64, npt.NDArray[np.uint8]]:
    """A multiplier that sends every code to its own of 256 places, and what is at each place."""
    for seed in range(1, 1 << 16):
        multiplier = np.uint64((0x9E3779B97F4A7C15 * (2 * seed + 1)) & ((1 << 64) - 1))
        with np.errstate(over="ignore"):
            places = (codes * multiplier) >> np.uint64(56)
        if len(np.unique(places)) == len(codes):
            table = np.full(256, NO_NAME, dtype=np.uint8)
            table[places] = np.arange(len(codes))
            return multiplier, table
    raise AssertionError("no multiplier was found")


_WHITE: Final = b" ,\t\r\f\v\0"
EDN: Final = Notation(sigil=":", blank=_WHITE, odd=b"\"\\;#^()@`~'\0\f\v", nil="nil")
JSON: Final = Notation(sigil="", blank=_WHITE + b':"', odd=b"\\\0\f\v", nil="null")


@dataclass(slots=True, eq=False)
class Text:
    """The tokens of a chunk, by column."""

    notation: Notation
    bytes: bytes
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    """WORD, LINE, or which bracket."""
    word: Mask
    depth: npt.NDArray[np.int32]
    """How many brackets of the line are open behind the token."""
    line: npt.NDArray[np.int32]
    breaks: Ints
    """Where the lines end: the tokens that are LINE."""
    at: Words
    """The eight bytes from each position on."""

    @property
    def raw(self) -> npt.NDArray[np.uint8]:
        """The bytes, margins included."""
        return np.frombuffer(self.bytes, dtype=np.uint8)

    def is_kind(self, tokens: Tokens, kind: int) -> Mask:
        """Whether tokens are of a kind; the last token, a line's end, stands for those behind it."""
        found: Mask = self.kind.take(tokens, mode="clip") == kind
        return found

    def is_word(self, tokens: Tokens) -> Mask:
        """Whether tokens are words."""
        return self.is_kind(tokens, WORD)

    def begins(self, tokens: Tokens, byte: str) -> Mask:
        """Whether tokens begin with a byte."""
        found: Mask = self.raw[self.start[tokens]] == ord(byte)
        return found

    def codes(self, tokens: Tokens) -> Words:
        """The first eight bytes of words, zeros behind shorter ones."""
        start = self.start[tokens]
        found: Words = self.at[start] & _LOW[np.minimum(self.end[tokens] - start, _LOAD)]
        return found

    def names(self, tokens: Tokens) -> npt.NDArray[np.uint8]:
        """Position in ``NAMES``, or ``NO_NAME``.

        Of names longer than eight bytes only the beginning is looked at, unless it is subscribe.
        """
        codes, notation = self.codes(tokens), self.notation
        found: npt.NDArray[np.uint8] = notation.places[(codes * notation.multiplier) >> np.uint64(56)]
        lengths = notation.lengths[found]
        end = self.end[tokens]
        wrong = (notation.codes[found] != codes) | ((lengths <= _LOAD) & (end - self.start[tokens] != lengths))
        found[wrong] = NO_NAME
        long = np.flatnonzero(found == _SUBSCRIBE)
        whole = (end[long] - self.start[tokens[long]] == notation.lengths[_SUBSCRIBE]) & (
            self.at[end[long] - _LOAD] == _SUBSCRIBE_TAIL
        )
        found[long[~whole]] = NO_NAME
        return found

    def integers(self, tokens: Tokens) -> tuple[Ints, Mask]:
        """Words as integers of 64 bits, ``NONE`` for nil, and whether they are one or the other."""
        start, end = self.start[tokens], self.end[tokens]
        negative = self.begins(tokens, "-")
        digits = end - start - negative
        low, good = _eight(self.at[end - _LOAD], np.minimum(digits, _LOAD))
        value = low.astype(np.int64)
        good &= digits > 0
        long = np.flatnonzero(digits > _LOAD)
        if len(long):
            middle, fine = _eight(self.at[end[long] - 2 * _LOAD], np.minimum(digits[long] - _LOAD, _LOAD))
            high, fits = _eight(self.at[end[long] - 3 * _LOAD], np.clip(digits[long] - 2 * _LOAD, 0, 3))
            fits &= (digits[long] <= _DIGITS) & (high <= _HIGHEST)
            value[long] += middle.astype(np.int64) * 10**8 + np.minimum(high, _HIGHEST).astype(np.int64) * 10**16
            good[long] &= fine & fits
        value[negative] *= -1
        others = np.flatnonzero(~good)
        nil = others[self.codes(tokens[others]) == self.notation.nil]
        value[nil] = NONE
        good[nil] = True
        return value, good

    def odd_lines(self) -> Mask:
        """Lines with a byte that means more than words do."""
        odd = np.zeros(len(self.breaks), dtype=np.bool_)
        inner = self.bytes[MARGIN:-MARGIN]
        wanted = [byte for byte in self.notation.odd if byte in inner]
        if not inner.isascii():
            wanted += range(128, 256)
        if wanted:
            table = np.zeros(256, dtype=np.bool_)
            table[wanted] = True
            odd[self.lines_at(np.flatnonzero(table[self.raw[MARGIN:-MARGIN]]) + MARGIN)] = True
        return odd

    def lines_at(self, positions: Ints) -> Ints:
        """The lines on which bytes stand."""
        return np.searchsorted(self.start[self.breaks], positions)


def tokens(data: bytes, notation: Notation) -> Text:
    """The tokens of whole lines; the last may lack its line end."""
    margin = bytes(MARGIN)
    text = margin + data + (b"" if data.endswith(b"\n") else b"\n") + margin
    kinds = notation.classes[np.frombuffer(text, dtype=np.uint8)]
    is_word = kinds == WORD
    first = np.empty(len(kinds), dtype=np.bool_)
    first[0] = False
    np.greater(kinds[1:], is_word[:-1], out=first[1:])
    start = np.flatnonzero(first).astype(np.int32)
    kind = kinds[start]
    word = kind == WORD
    end = start + np.int32(1)
    end[word] = np.flatnonzero(np.greater(is_word[:-1], is_word[1:])) + 1
    breaks = np.flatnonzero(kind == LINE)
    depth = np.cumsum(_STEP[kind], dtype=np.int32)
    ends = depth[breaks]
    widths = np.diff(breaks, prepend=-1)
    if ends.any():
        depth -= np.repeat(np.concatenate([[0], ends[:-1]]).astype(np.int32), widths)
    return Text(
        notation=notation,
        bytes=text,
        start=start,
        end=end,
        kind=kind,
        word=word,
        depth=depth,
        line=np.repeat(np.arange(len(breaks), dtype=np.int32), widths),
        breaks=breaks,
        at=np.ndarray(shape=(len(kinds) - _LOAD,), dtype="<u8", buffer=text, strides=(1,)),
    )


def _eight(loaded: Words, digits: Ids) -> tuple[Words, Mask]:
    """The number whose last digits end a load of eight bytes, and whether they are digits all."""
    filler = _LOW[8 - digits]
    text = (loaded & ~filler) | (np.uint64(0x3030303030303030) & filler)
    good = (text & np.uint64(0xF0F0F0F0F0F0F0F0)) == np.uint64(0x3030303030303030)
    good &= ((text + np.uint64(0x0606060606060606)) & np.uint64(0xF0F0F0F0F0F0F0F0)) == np.uint64(0x3030303030303030)
    text &= np.uint64(0x0F0F0F0F0F0F0F0F)
    text = (text * np.uint64(2561)) >> np.uint64(8)
    text = ((text & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((text & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32), good
