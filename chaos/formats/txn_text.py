"""Transactions from text at the speed of arrays: many lines at once, no object per record.

A line is taken only if its tokens are *all* accounted for by the shapes that such histories have: one map of keywords
to words with ``:f :txn``, whose ``:value`` is nil or holds ``[:r k nil]``, ``[:append k v]`` and ``[:r k [v …]]`` of
lists, ``[:r k v]`` and ``[:w k v]`` of registers, with integers of 64 bits. All other lines are named, and the general
reader reads those. So what is taken means what the general reader would have read.
"""

from typing import Final

import numpy as np

from chaos.formats import json_punctuation
from chaos.formats.columnar import Taken
from chaos.formats.kafka_columns import INTERNED, NONE, Ids, Ints, Ops, Small
from chaos.formats.maps import (
    IN_VALUE,
    TYPE,
    TYPES,
    F,
    Lines,
    bare_integers,
    is_list,
    maps,
    numbers_by_name,
    stamps,
    words_of,
)
from chaos.formats.tokens import CLOSE, EDN, JSON, OPEN, Mask, Text, tokens
from chaos.formats.txn_columns import NO_LIST, SAID, MicroKind, Micros, TxnColumns

IN_MICRO, IN_LIST = 3, 4
"""How many brackets are open behind a token: in a micro-operation, in the list that one read."""
_WORD: Final = 5  # tokens of a micro-operation with a word: [ r k v ]
_LIST: Final = 6  # of one with a list, without its elements: [ r k [ ] ]
_TXN: Final = numbers_by_name({"txn": 1})
_OF_LISTS: Final = numbers_by_name({"r": 1 + MicroKind.READ, "append": 1 + MicroKind.APPEND})
_OF_REGISTERS: Final = numbers_by_name({"r": 1 + MicroKind.READ, "w": 1 + MicroKind.WRITE})


def take(data: bytes, *, lists: bool, json: bool = False) -> Taken[TxnColumns]:
    """The records of the lines of a chunk that are of the known shapes, in EDN or JSON.

    ``data`` holds whole lines; the last may lack its line end. Lines without any word are neither taken nor refused.
    """
    with np.errstate(over="ignore"):
        return _take(tokens(data, JSON if json else EDN), lists=lists)


def _take(text: Text, *, lists: bool) -> Taken[TxnColumns]:
    lines = maps(text, others=True)
    index, time_ns, process = stamps(text, lines)
    kind = words_of(text, lines, TYPE, TYPES)
    words_of(text, lines, F, _TXN)
    said, inside = _inside(text, lines)
    begins, length, elements = _shapes(text, lines, inside, said)
    what = (_OF_LISTS if lists else _OF_REGISTERS)[text.names(begins + 1)] - 1
    key, value = _words(text, lines, begins, what, length, lists=lists)
    numbers, good = bare_integers(text, elements)
    lines.refused[text.line[elements[~good | (numbers == NONE) | (numbers < INTERNED)]]] = True
    records = np.flatnonzero(~lines.refused & ~lines.blank)
    place = np.cumsum(~lines.refused & ~lines.blank) - 1
    kept = np.flatnonzero(~lines.refused[text.line[begins]])
    keys, ids = np.unique(key[kept], return_inverse=True)
    micros = Micros(
        place[text.line[begins[kept]]],
        what[kept].astype(np.int8),
        ids.astype(np.int32),
        value[kept],
        length[kept],
    )
    flags = np.where(said[records], SAID, 0).astype(np.int8)
    ops = Ops(index[records], time_ns[records], kind[records], process[records], np.zeros(len(records), np.int8), flags)
    columns = TxnColumns(ops, micros, numbers[~lines.refused[text.line[elements]]], tuple(keys.tolist()), (), ("txn",))
    return Taken(columns, records, np.flatnonzero(lines.refused & ~lines.blank))


def _inside(text: Text, lines: Lines) -> tuple[Mask, Mask]:
    """Of each line whether its value is a list; of each token whether it is within such a value."""
    said = is_list(text, lines)
    if text.notation is JSON:
        lines.refused |= json_punctuation.wrong_lines(text, lines.keys)
    return said, (text.depth >= IN_VALUE) & (said & ~lines.refused)[text.line]


def _shapes(text: Text, lines: Lines, inside: Mask, said: Mask) -> tuple[Ints, Ids, Ints]:
    """Where micro-operations begin, how long the list of each is (``NO_LIST``), and where the elements are.

    Refuses lines with tokens that belong to none.
    """
    kind, depth, line, count = text.kind, text.depth, text.line, len(text.breaks)
    begins = np.flatnonzero(inside & (depth == IN_MICRO) & (kind == OPEN))
    begins = begins[text.is_word(begins + 1) & text.is_word(begins + 2)]
    words = text.is_word(begins + 3) & text.is_kind(begins + 4, CLOSE)
    lists = begins[text.is_kind(begins + 3, OPEN)]
    closes = np.flatnonzero(inside & (depth == IN_MICRO) & (kind == CLOSE))
    closes = closes[text.is_kind(closes + 1, CLOSE)]
    # The bracket that closes a list is the first behind its beginning; with none there the line is refused below.
    at = closes[np.minimum(np.searchsorted(closes, lists), max(len(closes) - 1, 0))] if len(closes) else lists
    sizes = np.maximum(at - lists - 4, 0)
    elements = np.flatnonzero(inside & (depth == IN_LIST) & text.word)
    explained = said.astype(np.int64)  # a value's first bracket; its last one is not inside of it
    explained += np.bincount(line[begins[words]], minlength=count) * _WORD
    explained += np.bincount(line[lists], minlength=count) * _LIST
    explained += np.bincount(line[elements], minlength=count)
    lines.refused |= explained != np.bincount(line[inside], minlength=count)
    given = np.bincount(line[lists], weights=sizes, minlength=count)
    lines.refused |= given != np.bincount(line[elements], minlength=count)
    length = np.full(len(begins), NO_LIST, dtype=np.int32)
    length[np.searchsorted(begins, lists)] = sizes
    return begins, length, elements


def _words(text: Text, lines: Lines, begins: Ints, what: Small, length: Ids, *, lists: bool) -> tuple[Ints, Ints]:
    """Keys and values of micro-operations; refuses lines where either is not what it should be."""
    key, good = bare_integers(text, begins + 2)
    wrong = ~good | (key == NONE) | (what < 0)
    value = np.full(len(begins), NONE, dtype=np.int64)
    at = np.flatnonzero(length == NO_LIST)
    third = np.minimum(begins[at] + 3, len(text.kind) - 1)
    value[at], good = bare_integers(text, third)
    wrong[at[~good]] = True
    is_read, is_list, is_nil = what == MicroKind.READ, length != NO_LIST, value == NONE
    wrong |= ~is_read & (is_list | is_nil)
    wrong |= is_read & ((~is_list & ~is_nil) if lists else is_list)
    wrong |= ~is_nil & (value < INTERNED)
    lines.refused[text.line[begins[wrong]]] = True
    return key, value
