"""Kafka-style histories from EDN text at the speed of arrays: many lines at once, no object per record.

A chunk of bytes becomes tokens (words, brackets, line ends) by a handful of vector operations; where a token stands
follows from the depth of its brackets; a line is taken only if its tokens are *all* accounted for by the shapes that
such histories have: one map of keywords to words, whose ``:value`` holds keys, ``[:send k v]``, ``[:send k [o v]]``,
``[:poll]`` and ``[:poll {k [[o v] …]}]``, with integers of 64 bits and nil.

The module refuses every other line: it names them, and the general reader (``edn``) reads those. So it never needs to
be lenient, and what it takes means what the general reader would have read.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chaos.core.formats.kafka_columns import NO_KEY, NONE, Ids, Ints, KafkaColumns, KafkaF, Mop, Mops, Ops, Small
from chaos.core.op import Type

Words = npt.NDArray[np.uint64]
Tokens = npt.NDArray[np.signedinteger[Any]]
Mask = npt.NDArray[np.bool_]

BLANK, WORD, LINE, OPEN, CLOSE, OPEN_MAP, CLOSE_MAP = range(7)
IN_RECORD, IN_VALUE, IN_MOP, IN_POLL, IN_MESSAGES, IN_MESSAGE = range(1, 7)
"""How many brackets are open behind a token: in the record's map, its value, a micro-operation; then in a poll's map
(or the pair of a send), the messages of a key, one message."""
_OUTSIDE: Final = 2  # tokens of a line with no bracket open behind them: the map's last bracket and the line's end
_LOAD: Final = 8  # bytes, or digits, at once
_DIGITS: Final = 19  # of the longest integer of 64 bits
_SUBSCRIBE: Final = 10  # letters of :subscribe
_MARGIN: Final = 24  # so that a load before the first or behind the last byte stays inside


def _classes() -> npt.NDArray[np.uint8]:
    table = np.full(256, WORD, dtype=np.uint8)
    table[list(b" ,\t\r\f\v\0")] = BLANK
    table[list(b"\n[]{}")] = [LINE, OPEN, CLOSE, OPEN_MAP, CLOSE_MAP]
    return table


_CLASS: Final = _classes()
_STEP: Final = np.array([0, 0, 0, 1, -1, 1, -1], dtype=np.int8)
_ODD: Final = b"\"\\;#^()@`~'\0\f\v"  # bytes that mean something beyond words: such a line is not for this module
_LOW: Final = np.array([(1 << 8 * n) - 1 for n in range(8)] + [(1 << 64) - 1], dtype=np.uint64)

_KEYS: Final = ("index", "time", "type", "process", "f", "value")
INDEX, TIME, TYPE, PROCESS, F, VALUE = range(6)
_NAMES: Final = (
    *_KEYS, "seek-to", "rebalan", "invoke", "ok", "fail", "info",
    "send", "poll", "txn", "assign", "subscri", "crash",
)  # fmt: skip
_CODES: Final = np.array([int.from_bytes(b":" + name.encode(), "little") for name in _NAMES], dtype=np.uint64)
_FIRST_REFUSED, _LAST_REFUSED = _NAMES.index("seek-to"), _NAMES.index("rebalan")
_NO_NAME: Final = len(_NAMES)
_SUBSCRIBE_TAIL: Final = np.uint64(int.from_bytes(b"ubscribe", "little"))
_HIGHEST: Final = np.uint64(921)  # the first three of 19 digits that fit into 64 bits whatever follows
_NIL: Final = np.uint64(int.from_bytes(b"nil", "little"))


def _numbers(words: dict[str, int]) -> Small:
    table = np.zeros(len(_NAMES) + 1, dtype=np.int8)
    for word, number in words.items():
        table[_NAMES.index(word)] = number
    return table


_TYPES: Final = _numbers({"invoke": Type.INVOKE, "ok": Type.OK, "fail": Type.FAIL, "info": Type.INFO})
_FS: Final = _numbers({
    "send": KafkaF.SEND, "poll": KafkaF.POLL, "txn": KafkaF.TXN, "assign": KafkaF.ASSIGN,
    "subscri": KafkaF.SUBSCRIBE, "crash": KafkaF.CRASH,
})  # fmt: skip
_SEND: Final = _NAMES.index("send")
_POLL: Final = _NAMES.index("poll")


def _perfect() -> tuple[np.uint64, npt.NDArray[np.uint8]]:
    """A multiplier that sends every name's code to its own of 256 places, and what is at each place."""
    for seed in range(1, 1 << 16):
        multiplier = np.uint64((0x9E3779B97F4A7C15 * (2 * seed + 1)) & ((1 << 64) - 1))
        with np.errstate(over="ignore"):
            places = (_CODES * multiplier) >> np.uint64(56)
        if len(np.unique(places)) == len(_CODES):
            table = np.full(256, 0, dtype=np.uint8)
            table[places] = np.arange(len(_CODES))
            return multiplier, table
    raise AssertionError("no multiplier was found")


_MULTIPLIER, _PLACES = _perfect()


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What a chunk gave.

    ``columns``: the records of the lines that were taken. ``lines``: the line of each of these records, from 0.
    ``refused``: the lines that are for the general reader. ``starts``: where each line begins; one more than lines.
    """

    columns: KafkaColumns
    lines: Ints
    refused: Ints
    starts: Ints


class _Text:
    """The tokens of a chunk, by column: class, start, depth behind, line."""

    def __init__(self, data: bytes) -> None:
        margin = bytes(_MARGIN)
        self.bytes = margin + data + (b"" if data.endswith(b"\n") else b"\n") + margin
        raw = np.frombuffer(self.bytes, dtype=np.uint8)
        kinds = _CLASS[raw]
        is_word = kinds == WORD
        first = np.empty(len(raw), dtype=np.bool_)
        first[0] = False
        np.greater(kinds[1:], is_word[:-1], out=first[1:])
        self.start = np.flatnonzero(first).astype(np.int32)
        self.kind = kinds[self.start]
        self.word = self.kind == WORD
        last = np.greater(is_word[:-1], is_word[1:])
        self.end = self.start + np.int32(1)
        self.end[self.word] = np.flatnonzero(last) + 1
        self.at = np.ndarray(shape=(len(raw) - 8,), dtype="<u8", buffer=self.bytes, strides=(1,))
        """The eight bytes from each position on."""
        self.breaks = np.flatnonzero(self.kind == LINE)
        depth = np.cumsum(_STEP[self.kind], dtype=np.int32)
        ends = depth[self.breaks]
        widths = np.diff(self.breaks, prepend=-1)
        self.line = np.repeat(np.arange(len(self.breaks), dtype=np.int32), widths)
        if ends.any():
            depth -= np.repeat(np.concatenate([[0], ends[:-1]]).astype(np.int32), widths)
        self.depth = depth

    def is_kind(self, tokens: Tokens, kind: int) -> Mask:
        """Whether tokens are brackets of a kind; the last token, a line's end, stands for those behind it."""
        found: Mask = self.kind.take(tokens, mode="clip") == kind
        return found

    def is_word(self, tokens: Tokens) -> Mask:
        return self.is_kind(tokens, WORD)

    def codes(self, tokens: Tokens) -> Words:
        """The first eight bytes of words, zeros behind shorter ones."""
        start = self.start[tokens]
        found: Words = self.at[start] & _LOW[np.minimum(self.end[tokens] - start, _LOAD)]
        return found

    def names(self, tokens: Tokens) -> npt.NDArray[np.uint8]:
        """Position in ``_NAMES``, or ``_NO_NAME``."""
        codes = self.codes(tokens)
        found: npt.NDArray[np.uint8] = _PLACES[(codes * _MULTIPLIER) >> np.uint64(56)]
        found[_CODES[found] != codes] = _NO_NAME
        return found

    def integers(self, tokens: Tokens) -> tuple[Ints, Mask]:
        """Words as integers of 64 bits, ``NONE`` for nil, and whether they are one or the other."""
        start, end = self.start[tokens], self.end[tokens]
        negative = self.at[start] & np.uint64(0xFF) == ord("-")
        digits = end - start - negative
        low, good = _eight(self.at[end - 8], np.minimum(digits, 8))
        value = low.astype(np.int64)
        good &= digits > 0
        long = np.flatnonzero(digits > _LOAD)
        if len(long):
            middle, fine = _eight(self.at[end[long] - 16], np.minimum(digits[long] - 8, 8))
            high, fits = _eight(self.at[end[long] - 24], np.clip(digits[long] - 16, 0, 3))
            fits &= (digits[long] <= _DIGITS) & (high <= _HIGHEST)
            value[long] += middle.astype(np.int64) * 10**8 + np.minimum(high, _HIGHEST).astype(np.int64) * 10**16
            good[long] &= fine & fits
        value[negative] *= -1
        nil = self.codes(tokens) == _NIL
        value[nil] = NONE
        return value, good | nil


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


def _odd_lines(text: _Text) -> Mask:
    """Lines with a byte that means more than words do."""
    odd = np.zeros(len(text.breaks), dtype=np.bool_)
    inner = text.bytes[_MARGIN:-_MARGIN]
    wanted = [byte for byte in _ODD if byte in inner]
    if not inner.isascii():
        wanted += range(128, 256)
    if wanted:
        table = np.zeros(256, dtype=np.bool_)
        table[wanted] = True
        at = np.flatnonzero(table[np.frombuffer(inner, dtype=np.uint8)]) + _MARGIN
        odd[np.searchsorted(text.start[text.breaks], at)] = True
    return odd


@dataclass(slots=True, eq=False)
class _Lines:
    """What is known of each line; ``refused`` grows as lines prove to be for the general reader."""

    refused: Mask
    blank: Mask
    places: npt.NDArray[np.int32]  # (line, one of _KEYS) -> token of the value, -1 without


def _maps(text: _Text) -> _Lines:
    """Lines that are one map of keywords, and where the values are that matter."""
    count = len(text.breaks)
    refused = _odd_lines(text)
    firsts = np.concatenate([[0], text.breaks[:-1] + 1])
    blank = firsts == text.breaks
    refused |= (text.kind[firsts] != OPEN_MAP) | (text.kind[text.breaks - 1] != CLOSE_MAP)
    refused |= text.depth[text.breaks] != 0
    inside = text.depth > 0
    outside = np.bincount(text.line[~inside], minlength=count)
    refused |= outside != _OUTSIDE
    members = np.flatnonzero((text.depth == IN_RECORD) & text.word | (text.depth == IN_VALUE) & _opens(text.kind))
    line = text.line[members]
    refused |= np.bincount(line, minlength=count) % 2 == 1
    members = members[~refused[line]]
    keys, values = members[::2], members[1::2]
    line = text.line[keys]
    names = text.names(keys).astype(np.int32)
    is_key = text.word[keys] & (text.at[text.start[keys]] & np.uint64(0xFF) == ord(":"))
    known = names <= VALUE
    wrong = ~is_key | ((names >= _FIRST_REFUSED) & (names <= _LAST_REFUSED)) | (~text.word[values] & (names != VALUE))
    refused[line[wrong]] = True
    places = np.full((count, len(_KEYS)), -1, dtype=np.int32)
    places[line[known], names[known]] = values[known]
    refused |= np.bincount(line[known], minlength=count) != (places >= 0).sum(axis=1)
    return _Lines(refused=refused, blank=blank, places=places)


def _opens(kind: npt.NDArray[np.uint8]) -> Mask:
    found: Mask = (kind == OPEN) | (kind == OPEN_MAP)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of ``Mops`` still as tokens: where each stands, and where its key, value and offset are (-1: none)."""

    at: Ints
    kind: Small
    key: Ints
    value: Ints
    offset: Ints


def _rows(kind: Mop, at: Ints, key: Ints | None = None, value: Ints | None = None, offset: Ints | None = None) -> _Rows:
    none = np.full(len(at), -1, dtype=np.int64)
    return _Rows(
        at=at,
        kind=np.full(len(at), kind, dtype=np.int8),
        key=none if key is None else key,
        value=none if value is None else value,
        offset=none if offset is None else offset,
    )


def _mops(text: _Text, mine: Mask, explained: npt.NDArray[np.int64]) -> tuple[list[_Rows], Ints]:
    """Rows of sends and polls, and the micro-operations; adds to ``explained`` how many tokens of each line they are.

    ``mine``: per token, whether it belongs to the value of a send, a poll or a transaction.
    """
    kind, depth, line, count = text.kind, text.depth, text.line, len(text.breaks)
    begins = np.flatnonzero(mine & (depth == IN_MOP) & (kind == OPEN))
    names = text.names(np.minimum(begins + 1, len(kind) - 1))
    found = []

    def explain(tokens: Ints, each: int) -> None:
        np.add(explained, np.bincount(line[tokens], minlength=count) * each, out=explained)

    sends = begins[names == _SEND]
    sends = sends[text.is_word(sends + 2)]
    plain = sends[text.is_word(sends + 3) & text.is_kind(sends + 4, CLOSE)]
    explain(plain, 5)
    found.append(_rows(Mop.SEND, plain, plain + 2, plain + 3))
    pair = sends[text.is_kind(sends + 3, OPEN)]
    pair = pair[text.is_word(pair + 4) & text.is_word(pair + 5)]
    pair = pair[text.is_kind(pair + 6, CLOSE) & text.is_kind(pair + 7, CLOSE)]
    explain(pair, 8)
    found.append(_rows(Mop.SEND, pair, pair + 2, pair + 5, pair + 4))
    polls = begins[names == _POLL]
    explain(polls[text.is_kind(polls + 2, CLOSE)], 3)
    polls = polls[text.is_kind(polls + 2, OPEN_MAP)]
    explain(polls, 3)
    found.append(_rows(Mop.NOTHING, polls[text.is_kind(polls + 3, CLOSE_MAP)]))
    ends = np.flatnonzero(mine & (depth == IN_MOP) & (kind == CLOSE_MAP))
    explain(ends[text.is_kind(ends + 1, CLOSE)], 2)
    entries = np.flatnonzero(mine & (depth == IN_MESSAGES) & (kind == OPEN)) - 1
    entries = entries[text.is_word(entries) & (depth[entries] == IN_POLL)]
    explain(entries, 2)
    found.append(_rows(Mop.EMPTY, empty := entries[text.is_kind(entries + 2, CLOSE)], empty))
    explain(np.flatnonzero(mine & (depth == IN_POLL) & (kind == CLOSE)), 1)
    messages = np.flatnonzero(mine & (depth == IN_MESSAGE) & (kind == OPEN))
    messages = messages[text.is_word(messages + 1) & text.is_word(messages + 2)]
    messages = messages[text.is_kind(messages + 3, CLOSE)]
    explain(messages, 4)
    if len(entries):
        keys = entries[np.maximum(np.searchsorted(entries, messages) - 1, 0)]
        found.append(_rows(Mop.POLLED, messages, keys, messages + 2, messages + 1))
    return found, begins


def _numbered(text: _Text, lines: _Lines, which: int) -> Ints:
    """The integers of one member of the maps; ``NONE`` without, and lines with anything else are refused."""
    found = np.full(len(lines.places), NONE, dtype=np.int64)
    at = np.flatnonzero(~lines.refused & (lines.places[:, which] >= 0))
    values, good = text.integers(lines.places[at, which])
    found[at] = values
    lines.refused[at[~good]] = True
    return found


def _named(text: _Text, lines: _Lines, which: int, table: Small) -> Small:
    """The words of one member of the maps by a table; lines with another word or none are refused."""
    found = np.zeros(len(lines.places), dtype=np.int8)
    at = np.flatnonzero(~lines.refused & (lines.places[:, which] >= 0))
    tokens = lines.places[at, which]
    names = text.names(tokens)
    # Ten letters in eight bytes: the rest of the word is looked at where it matters.
    long = text.end[tokens] - text.start[tokens] > _LOAD
    whole = (text.end[tokens] - text.start[tokens] == _SUBSCRIBE) & (text.at[text.end[tokens] - 8] == _SUBSCRIBE_TAIL)
    names[long & ~whole] = _NO_NAME
    found[at] = table[names]
    lines.refused |= found == 0
    return found


def _values(text: _Text, lines: _Lines, f: Small) -> tuple[_Rows, Ints]:
    """All rows, in no order, and where the micro-operations begin; refuses lines whose values are not wholly known."""
    value = lines.places[:, VALUE]
    vector = (value >= 0) & text.is_kind(value, OPEN)
    nothing = (value < 0) | (text.is_word(value) & (text.codes(np.maximum(value, 0)) == _NIL))
    keyed = (f == KafkaF.ASSIGN) | (f == KafkaF.SUBSCRIBE)
    lines.refused |= ~vector & ~nothing
    lines.refused |= vector & (f == KafkaF.CRASH)
    good = vector & ~lines.refused
    inside = (text.depth >= IN_VALUE) & good[text.line]
    mine = inside & ~keyed[text.line]
    explained = good.astype(np.int64)
    found, begins = _mops(text, mine, explained)
    keys = np.flatnonzero(inside & ~mine & (text.depth == IN_VALUE) & text.word)
    found.append(_rows(Mop.KEY, keys, keys))
    explained += np.bincount(text.line[keys], minlength=len(explained))
    lines.refused |= explained != np.bincount(text.line[inside], minlength=len(explained))
    rows = _Rows(*(np.concatenate([getattr(part, name) for part in found]) for name in _Rows.__slots__))
    order = np.argsort(rows.at, kind="stable")
    order = order[~lines.refused[text.line[rows.at[order]]]]
    return _Rows(*(getattr(rows, name)[order] for name in _Rows.__slots__)), begins


def _row_numbers(text: _Text, lines: _Lines, rows: _Rows, tokens: Ints, *, nil: bool) -> Ints:
    """The integers that rows name, ``NONE`` without; lines with anything else are refused, unless nil is fine."""
    found = np.full(len(tokens), NONE, dtype=np.int64)
    at = np.flatnonzero(tokens >= 0)
    values, good = text.integers(tokens[at])
    found[at] = values
    wrong = ~good if nil else ~good | (values == NONE)
    lines.refused[text.line[rows.at[at[wrong]]]] = True
    return found


def take(data: bytes) -> Taken:
    """The records of the lines of a chunk that are of the known shapes.

    ``data`` holds whole lines; the last may lack its line end. Lines without any word are neither taken nor refused.
    """
    with np.errstate(over="ignore"):
        return _take(_Text(data))


def _take(text: _Text) -> Taken:
    lines = _maps(text)
    index, time_ns, process = (_numbered(text, lines, which) for which in (INDEX, TIME, PROCESS))
    time_ns[time_ns == -1] = NONE  # how old files say that they do not know
    kind, f = _named(text, lines, TYPE, _TYPES), _named(text, lines, F, _FS)
    lines.refused |= process < 0
    rows, begins = _values(text, lines, f)
    key = _row_numbers(text, lines, rows, rows.key, nil=False)
    value = _row_numbers(text, lines, rows, rows.value, nil=True)
    offset = _row_numbers(text, lines, rows, rows.offset, nil=True)
    records = np.flatnonzero(~lines.refused & ~lines.blank)
    line = text.line[rows.at]
    kept = ~lines.refused[line]
    place = np.cumsum(~lines.refused & ~lines.blank) - 1
    which = np.searchsorted(begins, rows.at, side="right") - 1
    first = np.searchsorted(begins, text.breaks[line - 1] * (line > 0))
    named = rows.key[kept] >= 0
    keys, ids = np.unique(key[kept][named], return_inverse=True)
    key_ids = np.full(len(named), NO_KEY, dtype=np.int32)
    key_ids[named] = ids
    mops = Mops(
        op=place[line[kept]],
        kind=rows.kind[kept],
        mop=np.where(rows.kind == Mop.KEY, 0, which - first)[kept].astype(np.int32),
        key=key_ids,
        value=value[kept],
        offset=offset[kept],
    )
    ops = Ops(
        index[records], time_ns[records], kind[records], process[records], f[records], np.zeros(len(records), np.int8)
    )
    starts = np.concatenate([[0], text.start[text.breaks] + 1 - _MARGIN])
    return Taken(
        columns=KafkaColumns(ops=ops, mops=mops, keys=tuple(keys.tolist()), values=()),
        lines=records,
        refused=np.flatnonzero(lines.refused & ~lines.blank),
        starts=starts,
    )
