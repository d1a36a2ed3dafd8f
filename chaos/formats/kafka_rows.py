"""Kafka-style events as columns, one at a time: the definition that ``kafka_text`` must agree with.

What a record's value may be: for send, poll and txn a vector of ``[:send k v]``, ``[:send k [offset v]]``, ``[:poll]``
and ``[:poll {k [[offset v] …]}]``; for assign and subscribe a vector of keys; for anything else it is not looked at.
nil is an empty value. Keys and values are whatever the history has, offsets integers of 64 bits or nil.

Does not skip what it does not understand: such a record is an error that names its line.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from chaos.formats import edn
from chaos.formats.kafka_columns import (
    INTERNED,
    NO_KEY,
    NO_PROCESS,
    NONE,
    SEEK_TO_BEGINNING,
    Ints,
    KafkaColumns,
    KafkaF,
    Mop,
    Mops,
    Ops,
    Typed,
    interned_number,
)
from chaos.formats.records import Event

_FS: Final = {f.word: f for f in KafkaF if f is not KafkaF.OTHER}
_TRANSACTIONS: Final = (KafkaF.SEND, KafkaF.POLL, KafkaF.TXN)
_ASSIGNMENTS: Final = (KafkaF.ASSIGN, KafkaF.SUBSCRIBE)
_LIMIT: Final = 1 << 63
_PAIR: Final = 2
_SEND_WORDS: Final = 3


def _word(value: Any) -> Any:
    return value[1:] if isinstance(value, edn.Keyword) else value


def _vector(value: Any, what: str) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, tuple):
        return value
    raise ValueError(f"{what} is a vector, not {str(value)[:40]}")


class Rows:
    """Grows the columns record by record.

    ``json``: keys that spell an integer are that integer, since the keys of JSON's objects are strings.
    """

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.ops: list[tuple[int, int, int, int, int, int]] = []
        self.mops: list[tuple[int, int, int, int, int, int]] = []
        self.lines: list[int] = []
        self.keys: dict[Typed, int] = {}
        self.values: dict[Typed, int] = {}

    def add(self, event: Event) -> None:
        """Append one record.

        Raises:
            ValueError: saying what in its value is not understood.
        """
        f = _FS.get(event.f, KafkaF.OTHER)
        number = event.process
        client = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _LIMIT
        seek = SEEK_TO_BEGINNING if event.extra.get("seek-to-beginning?") else 0
        if client and f in _TRANSACTIONS:
            for position, mop in enumerate(_vector(event.value, f"the value of a {f.word}")):
                self._mop(position, mop)
        elif client and f in _ASSIGNMENTS:
            for key in _vector(event.value, f"the value of a {f.word}"):
                self._row(Mop.KEY, 0, self._key(key))
        if client:
            self._rebalanced(event.extra.get("rebalance-log"))
        self.ops.append(
            (
                NONE if event.index is None else event.index,
                NONE if event.time_ns is None else event.time_ns,
                event.type,
                number if client else NO_PROCESS,  # type: ignore[arg-type]
                f,
                seek,
            )
        )
        self.lines.append(event.line)

    def _row(self, kind: Mop, mop: int, key: int, value: int = NONE, offset: int = NONE) -> None:
        self.mops.append((len(self.ops), kind, mop, key, value, offset))

    def _mop(self, position: int, mop: Any) -> None:
        words = _vector(mop, "a micro-operation")
        kind = _word(words[0]) if words else None
        if kind == "send" and len(words) == _SEND_WORDS:
            offset, value = words[2] if isinstance(words[2], tuple) and len(words[2]) == _PAIR else (None, words[2])
            self._row(Mop.SEND, position, self._key(words[1]), self._value(value), _offset(offset))
        elif kind == "poll" and len(words) in (1, 2):
            messages = words[1] if len(words) == _PAIR else None
            if messages is not None:
                self._poll(position, messages)
        else:
            raise ValueError(f"{_shown(mop)} is neither [:send key value] nor [:poll] nor [:poll {{key messages}}]")

    def _poll(self, position: int, messages: Any) -> None:
        if not isinstance(messages, dict):
            raise ValueError(f"a poll gives a map of keys to messages, not {_shown(messages)}")  # noqa: TRY004 - text
        if not messages:
            self._row(Mop.NOTHING, position, NO_KEY)
        for key, pairs in messages.items():
            number = self._key(key)
            if not _vector(pairs, "what a poll gives for a key"):
                self._row(Mop.EMPTY, position, number)
            for pair in pairs or ():
                if not isinstance(pair, tuple) or len(pair) != _PAIR:
                    raise ValueError(f"a polled message is [offset value], not {_shown(pair)}")
                self._row(Mop.POLLED, position, number, self._value(pair[1]), _offset(pair[0]))

    def _rebalanced(self, log: Any) -> None:
        for entry in _vector(log, ":rebalance-log"):
            keys = entry.get(edn.Keyword(":keys"), entry.get("keys")) if isinstance(entry, dict) else None
            for key in _vector(keys, ":keys of a rebalance"):
                self._row(Mop.REBALANCED, 0, self._key(key))

    def _key(self, key: Any) -> int:
        if key is None:
            raise ValueError("a key is nil")
        if self.json and isinstance(key, str) and key.removeprefix("-").isdecimal():
            key = int(key)
        return self.keys.setdefault((type(key), key), len(self.keys))

    def _value(self, value: Any) -> int:
        if value is None:
            return NONE
        if type(value) is int and INTERNED <= value < _LIMIT:
            return value
        return interned_number(self.values.setdefault((type(value), value), len(self.values)))

    def columns(self) -> KafkaColumns:
        """What was added."""
        index, time_ns, kind, process, f, flags = _columns(self.ops)
        op, what, mop, key, value, offset = _columns(self.mops)
        small, ids = np.int8, np.int32
        return KafkaColumns(
            ops=Ops(index, time_ns, kind.astype(small), process, f.astype(small), flags.astype(small)),
            mops=Mops(op, what.astype(small), mop.astype(ids), key.astype(ids), value, offset),
            keys=tuple(key for _, key in self.keys),
            values=tuple(value for _, value in self.values),
        )


def _columns(rows: list[tuple[int, int, int, int, int, int]]) -> Iterable[Ints]:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 6)
    return (np.ascontiguousarray(column) for column in table.T)


def _offset(offset: Any) -> int:
    if offset is None:
        return NONE
    if type(offset) is int and NONE < offset < _LIMIT:
        return offset
    raise ValueError(f"an offset is an integer of 64 bits or nil, not {_shown(offset)}")


def _shown(value: Any) -> str:
    return str(value)[:60]
