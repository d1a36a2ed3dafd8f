"""Kafka-style histories from text at the speed of arrays: many lines at once, no object per record.

Where a token (``tokens``) stands follows from the depth of its brackets; a line is taken only if its tokens are
*all* accounted for by the shapes that such histories have: one map of keywords to words, whose ``:value`` holds keys,
``[:send k v]``, ``[:send k [o v]]``, ``[:poll]`` and ``[:poll {k [[o v] …]}]``, with integers of 64 bits and nil.

Does not read any other line: it names them, and the general reader reads those. So it never needs to be lenient, and
what it takes means what the general reader would have read.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from chaos.formats import json_punctuation
from chaos.formats.columnar import Taken
from chaos.formats.kafka_columns import NO_KEY, NONE, Ints, KafkaColumns, KafkaF, Mop, Mops, Ops, Small
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
from chaos.formats.tokens import CLOSE, CLOSE_MAP, EDN, JSON, NAMES, OPEN, OPEN_MAP, Mask, Text, tokens

IN_MOP, IN_POLL, IN_MESSAGES, IN_MESSAGE = range(3, 7)
"""How many brackets are open behind a token: in a micro-operation; then in a poll's map (or the pair of a send), the
messages of a key, one message."""
_SEND: Final = NAMES.index("send")
_POLL: Final = NAMES.index("poll")


_FS: Final = numbers_by_name(
    {
        "send": KafkaF.SEND,
        "poll": KafkaF.POLL,
        "txn": KafkaF.TXN,
        "assign": KafkaF.ASSIGN,
        "subscribe": KafkaF.SUBSCRIBE,
        "crash": KafkaF.CRASH,
    }
)


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


def _mops(text: Text, mine: Mask, explained: npt.NDArray[np.int64]) -> tuple[list[_Rows], Ints, Ints]:
    """Rows of sends and polls, the micro-operations, and the keys of polls' maps.

    ``explained``: grows by how many tokens of each line these are.
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
    return found, begins, entries


def _values(text: Text, lines: Lines, f: Small) -> tuple[_Rows, Ints]:
    """All rows, in no order, and where the micro-operations begin; refuses lines whose values are not wholly known."""
    vector = is_list(text, lines)
    keyed = (f == KafkaF.ASSIGN) | (f == KafkaF.SUBSCRIBE)
    lines.refused |= vector & (f == KafkaF.CRASH)
    good = vector & ~lines.refused
    inside = (text.depth >= IN_VALUE) & good[text.line]
    mine = inside & ~keyed[text.line]
    explained = good + np.bincount(text.line[lines.empty], minlength=len(good))
    found, begins, entries = _mops(text, mine, explained)
    keys = np.flatnonzero(inside & ~mine & (text.depth == IN_VALUE) & text.word)
    found.append(_rows(Mop.KEY, keys, keys))
    explained += np.bincount(text.line[keys], minlength=len(explained))
    if text.notation is JSON:
        lines.refused |= json_punctuation.wrong_lines(text, np.concatenate([lines.keys, entries]))
    lines.refused |= explained != np.bincount(text.line[inside], minlength=len(explained))
    rows = _Rows(*(np.concatenate([getattr(part, name) for part in found]) for name in _Rows.__slots__))
    order = np.argsort(rows.at, kind="stable")
    order = order[~lines.refused[text.line[rows.at[order]]]]
    return _Rows(*(getattr(rows, name)[order] for name in _Rows.__slots__)), begins


def _row_numbers(text: Text, lines: Lines, rows: _Rows, tokens: Ints, *, nil: bool) -> Ints:
    """The integers that rows name, ``NONE`` without; lines with anything else are refused, unless nil is fine."""
    found = np.full(len(tokens), NONE, dtype=np.int64)
    at = np.flatnonzero(tokens >= 0)
    values, good = bare_integers(text, tokens[at]) if nil else text.integers(tokens[at])
    found[at] = values
    wrong = ~good if nil else ~good | (values == NONE)
    lines.refused[text.line[rows.at[at[wrong]]]] = True
    return found


def take(data: bytes, *, json: bool = False) -> Taken[KafkaColumns]:
    """The records of the lines of a chunk that are of the known shapes, in EDN or JSON.

    ``data`` holds whole lines; the last may lack its line end. Lines without any word are neither taken nor refused.
    """
    with np.errstate(over="ignore"):
        return _take(tokens(data, JSON if json else EDN))


def _take(text: Text) -> Taken[KafkaColumns]:
    lines = maps(text, others=True)
    index, time_ns, process = stamps(text, lines)
    kind, f = words_of(text, lines, TYPE, TYPES), words_of(text, lines, F, _FS)
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
    keyed = rows.key[kept] >= 0
    keys, ids = np.unique(key[kept][keyed], return_inverse=True)
    key_ids = np.full(len(keyed), NO_KEY, dtype=np.int32)
    key_ids[keyed] = ids
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
    return Taken(
        columns=KafkaColumns(ops=ops, mops=mops, keys=tuple(keys.tolist()), values=()),
        lines=records,
        refused=np.flatnonzero(lines.refused & ~lines.blank),
    )
