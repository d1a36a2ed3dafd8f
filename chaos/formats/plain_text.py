"""Records of registers, counters, queues and the like from text, many lines at once.

A line is taken if its members are Jepsen's usual ones and nothing else, and its value is nil, an integer of 64 bits,
``[a b]`` or ``[k [a b]]`` of these. Does not read other lines: it names them, and the general reader reads them. What
is taken means what that would have read.
"""

from typing import Any, Final

import numpy as np

from chaos.core.op import Type
from chaos.formats import json_punctuation
from chaos.formats.kafka_columns import NONE, Ints
from chaos.formats.maps import (
    IN_VALUE,
    TYPE,
    TYPES,
    VALUE,
    F,
    Lines,
    bare_integers,
    is_name,
    maps,
    stamps,
    words_of,
)
from chaos.formats.records import Event
from chaos.formats.tokens import CLOSE, EDN, JSON, OPEN, Mask, Text, Tokens, tokens

_TYPE_OF: Final = {number: Type(number) for number in (1, 2, 3, 4)}
_PAIR: Final = 3  # tokens within the value's brackets, the first of them included: [ a b
_KEYED: Final = 6  # [ k [ a b ]
_LOAD: Final = 8


def take(data: bytes, first_lines: Ints, *, json: bool) -> tuple[list[Event], list[int], list[int]]:
    """The events of the lines that were taken, the numbers of these lines, and those of the lines that were refused.

    ``first_lines``: the line of the file on which each line of ``data`` begins. Lines without a word are in neither.
    """
    with np.errstate(over="ignore"):
        return _take(tokens(data, JSON if json else EDN), first_lines)


def _take(text: Text, first_lines: Ints) -> tuple[list[Event], list[int], list[int]]:
    lines = maps(text, others=False)
    if text.notation is JSON:
        lines.refused |= json_punctuation.wrong_lines(text, lines.keys)
    index, time_ns, process = stamps(text, lines)
    kind = words_of(text, lines, TYPE, TYPES)
    words, word_of = _words(text, lines)
    values = _values(text, lines)
    taken = np.flatnonzero(~lines.refused & ~lines.blank)
    events = [
        Event(i, t, _TYPE_OF[k], p, words[f], v, {}, line)
        for i, t, k, p, f, v, line in zip(
            _said(index[taken]),
            _said(time_ns[taken]),
            kind[taken].tolist(),
            process[taken].tolist(),
            word_of[taken].tolist(),
            [values[number] for number in taken.tolist()],
            first_lines[taken].tolist(),
            strict=True,
        )
    ]
    return events, taken.tolist(), np.flatnonzero(lines.refused & ~lines.blank).tolist()


def _said(numbers: Ints) -> list[int | None]:
    listed: list[int | None] = numbers.tolist()
    return [None if number == NONE else number for number in listed] if bool((numbers == NONE).any()) else listed


def _words(text: Text, lines: Lines) -> tuple[list[str], Ints]:
    """The words of ``f``, and which of them each line has; lines without one, or with a long one, are refused."""
    at = np.flatnonzero(~lines.refused & (lines.places[:, F] >= 0))
    where = lines.places[at, F]
    lengths = text.end[where] - text.start[where]
    sigil = 1 if text.notation is EDN else 0
    good = is_name(text, where) & (lengths <= 2 * _LOAD)
    good &= text.begins(where, ":") if text.notation is EDN else ~json_punctuation.is_bare(text, where)
    at, where, lengths = at[good], where[good], lengths[good]
    code, tail = text.codes(where), text.at[text.end[where] - _LOAD]
    tail = np.where(lengths > _LOAD, tail, 0)
    mixed = code ^ (tail * np.uint64(0x9E3779B97F4A7C15)) ^ lengths.astype(np.uint64)
    _, firsts, which = np.unique(mixed, return_index=True, return_inverse=True)
    same = (code == code[firsts][which]) & (tail == tail[firsts][which]) & (lengths == lengths[firsts][which])
    found = np.full(len(lines.places), -1, dtype=np.int64)
    found[at[same]] = which[same]
    lines.refused |= found < 0
    ends = text.end[where[firsts]].tolist()
    starts = text.start[where[firsts]].tolist()
    return [text.bytes[lo + sigil : hi].decode() for lo, hi in zip(starts, ends, strict=True)], found


def _values(text: Text, lines: Lines) -> list[Any]:
    """The value of each line; lines whose values are not of the known shapes are refused."""
    place = lines.places[:, VALUE].astype(np.int64)
    inside = np.bincount(text.line[text.depth >= IN_VALUE], minlength=len(place))
    found: list[Any] = [None] * len(place)
    known = lines.refused | (place < 0)
    for size in (0, _PAIR, _KEYED):
        at = np.flatnonzero(~known & (inside == size))
        good = _shaped(text, place[at], size)
        columns = []
        for offset in {0: (0,), _PAIR: (1, 2), _KEYED: (1, 3, 4)}[size]:
            numbers, fine = bare_integers(text, np.minimum(place[at] + offset, len(text.kind) - 1))
            good &= fine
            columns.append(_said(numbers))
        known[at[good]] = True
        for number, value, fine in zip(at.tolist(), _joined(columns), good.tolist(), strict=True):
            if fine:
                found[number] = value
    lines.refused |= ~known
    return found


def _shaped(text: Text, value: Tokens, size: int) -> Mask:
    """Whether the brackets of values stand as their size wants it; every other token of theirs is then a word."""
    if size == 0:
        return text.is_word(value)
    good = text.is_kind(value, OPEN) & text.is_word(value + 1)
    if size == _PAIR:
        return good & text.is_word(value + 2) & text.is_kind(value + 3, CLOSE)
    good &= text.is_kind(value + 2, OPEN) & text.is_word(value + 3) & text.is_word(value + 4)
    return good & text.is_kind(value + 5, CLOSE) & text.is_kind(value + 6, CLOSE)


def _joined(columns: list[list[int | None]]) -> list[Any]:
    if len(columns) == 1:
        return list(columns[0])
    if len(columns) == 2:  # noqa: PLR2004 - a pair
        return list(zip(*columns, strict=True))
    return [(key, (first, second)) for key, first, second in zip(*columns, strict=True)]
