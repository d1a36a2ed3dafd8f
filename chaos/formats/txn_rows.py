"""Transactions as columns, one record at a time: the definition that ``txn_text`` must agree with.

A value is a list of micro-operations ``[:r k v]``, ``[:append k v]`` or ``[:w k v]``; what was read stands in a
completion, nil or nothing in an invocation. A completion that is not ok may say something else, or nothing: then what
was asked stands for it. Keys and values are whatever the history has.
"""

from typing import Any, Final

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import INTERNED, NO_PROCESS, NONE, Ops, interned_number
from chaos.formats.records import Event
from chaos.formats.txn_columns import NO_LIST, SAID, MicroKind, Micros, Table, TxnColumns

_KINDS: Final = {f"{colon}{kind.word}": kind for kind in MicroKind for colon in (":", "")}
_LENGTHS: Final = range(2, 4)
_LIMIT: Final = 1 << 63


class Rows:
    """Grows the columns record by record. ``lists``: whether keys are lists; else they are registers."""

    def __init__(self, *, lists: bool) -> None:
        self.lists = lists
        self.ops: list[tuple[int, int, int, int, int, int]] = []
        self.micros: list[tuple[int, int, int, int, int]] = []
        self.elements: list[int] = []
        self._keys, self._values = Table(), Table()
        self._words: dict[str, int] = {}

    def add(self, event: Event) -> None:
        """Append one record.

        Raises:
            ValueError: saying what in its value is not understood.
        """
        number = event.process
        client = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < _LIMIT
        said = client and self.said(event.value, event.type)
        self.ops.append(
            (
                NONE if event.index is None else event.index,
                NONE if event.time_ns is None else event.time_ns,
                event.type,
                number if client else NO_PROCESS,  # type: ignore[arg-type]
                self.word(event.f),
                SAID if said else 0,
            )
        )

    def said(self, value: Any, kind: Type) -> bool:
        """Append the micro-operations of the next record; whether its value is a list of such.

        Raises:
            ValueError: saying what is not understood.
        """
        whole = isinstance(value, tuple) and all(isinstance(one, tuple) for one in value)
        if not whole and (value is None or kind in (Type.FAIL, Type.INFO)):
            return False
        for micro in value if isinstance(value, tuple) else (value,):
            self._micro(micro)
        return True

    def word(self, f: str) -> int:
        """The number of an operation's word."""
        return self._words.setdefault(f, len(self._words))

    def _micro(self, micro: Any) -> None:
        if not isinstance(micro, tuple) or len(micro) not in _LENGTHS or micro[0] not in _KINDS:
            raise ValueError(f"{str(micro)[:60]} is no micro-operation of a transaction")
        word, key, *rest = micro
        value, kind = rest[0] if rest else None, _KINDS[word]
        if kind is (MicroKind.WRITE if self.lists else MicroKind.APPEND):
            model = "list-append" if self.lists else "rw-register"
            raise ValueError(f"{word} is no micro-operation of --model {model}")
        if kind is not MicroKind.READ and value is None:
            raise ValueError(f"{word} {key} has no value")
        number, length = NONE, NO_LIST
        if self.lists and kind is MicroKind.READ:
            length = self._list(value)
        else:
            number = self._value(value)
        self.micros.append((len(self.ops), kind, self._keys.of(key), number, length))

    def _list(self, value: Any) -> int:
        """Append the elements of a list; how many there are, or ``NO_LIST`` for nil."""
        if value is None:
            return NO_LIST
        if not isinstance(value, tuple):
            raise ValueError(f"a read of a list gives a list, not {str(value)[:40]}")  # noqa: TRY004 - text, not types
        self.elements.extend(map(self._value, value))
        return len(value)

    def _value(self, value: Any) -> int:
        if value is None:
            return NONE
        if type(value) is int and INTERNED <= value < _LIMIT:
            return value
        return interned_number(self._values.of(value))

    def columns(self) -> TxnColumns:
        """What was added."""
        index, time_ns, kind, process, f, flags = np.array(self.ops, dtype=np.int64).reshape(-1, 6).T.copy()
        op, what, key, value, length = np.array(self.micros, dtype=np.int64).reshape(-1, 5).T.copy()
        small, ids = np.int8, np.int32
        return TxnColumns(
            Ops(index, time_ns, kind.astype(small), process, f.astype(small), flags.astype(small)),
            Micros(op, what.astype(small), key.astype(ids), value, length.astype(ids)),
            np.array(self.elements, dtype=np.int64),
            tuple(self._keys.shown),
            tuple(self._values.shown),
            tuple(self._words),
        )
