"""Transactions from paired operations: values such as ``[[:r x [1 2]] [:append x 3]]``.

The value of an ok completion is what happened. One of a failed or indeterminate completion may lack what was read, or
all; the invocation's stands for it then. A read of nil is an observation only where the transaction was ok.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.operations import Operation
from checkers.objects.calls import frozen
from checkers.txn.transactions import NIL, Kind, Transactions

_KINDS: Final = {":r": Kind.READ, "r": Kind.READ, ":w": Kind.WRITE, "w": Kind.WRITE}
_APPEND: Final = {":append": Kind.APPEND, "append": Kind.APPEND}
_MICRO: Final = range(2, 4)


class _Table:
    """Things that are numbered in order of their first use."""

    def __init__(self) -> None:
        self.ids: dict[Any, int] = {}
        self.shown: list[Any] = []

    def of(self, one: Any) -> int:
        key = one if type(one) is int or type(one) is str else frozen(one)
        found = self.ids.get(key)
        if found is None:
            found = self.ids[key] = len(self.shown)
            self.shown.append(one)
        return found


class _Columns:
    def __init__(self, *, lists: bool) -> None:
        self.lists = lists
        self.kinds = _KINDS | _APPEND
        self.keys, self.values = _Table(), _Table()
        self.kind: list[int] = []
        self.key: list[int] = []
        self.value: list[int] = []
        self.known: list[bool] = []
        self.read_first: list[int] = [0]
        self.elements: list[int] = []

    def micro(self, micro: Any, *, is_ok: bool) -> None:
        """Add one micro-operation.

        Raises:
            ValueError: saying what is wrong with it.
        """
        if not isinstance(micro, tuple) or len(micro) not in _MICRO or micro[0] not in self.kinds:
            raise ValueError(f"{str(micro)[:60]} is no micro-operation of a transaction")
        word, key, *rest = micro
        value, kind = rest[0] if rest else None, self.kinds[word]
        if kind is (Kind.WRITE if self.lists else Kind.APPEND):
            model = "list-append" if self.lists else "rw-register"
            raise ValueError(f"{word} is no micro-operation of --model {model}")
        if kind is not Kind.READ and value is None:
            raise ValueError(f"{word} {key} brings nothing")
        self.kind.append(kind)
        self.key.append(self.keys.of(key))
        self.known.append(is_ok or value is not None)
        if self.lists and kind is Kind.READ:
            self._list(value)
        else:
            self.value.append(NIL if value is None else self.values.of(value))
        self.read_first.append(len(self.elements))

    def _list(self, value: Any) -> None:
        if value is not None and not isinstance(value, tuple):
            raise ValueError(f"a read of a list gives a list, not {str(value)[:40]}")
        self.value.append(NIL)
        self.elements.extend(map(self.values.of, value or ()))


def said(operation: Operation) -> tuple[Any, ...]:
    """The micro-operations of an operation, as far as anybody knows them."""
    told = operation.output
    whole = isinstance(told, tuple) and all(isinstance(one, tuple) for one in told)
    micros = told if whole or (told is not None and operation.type is Type.OK) else operation.argument
    return micros if isinstance(micros, tuple) else (micros,)


def transactions_of(operations: Iterable[Operation], *, lists: bool) -> Transactions:
    """Operations as transactions.

    Args:
        operations: ascending by invocation.
        lists: whether keys are lists; else they are registers.

    Raises:
        HistoryError: an operation that is no transaction of such keys.
    """
    columns = _Columns(lists=lists)
    rows = list(operations)
    first = [0]
    for row in rows:
        try:
            for micro in said(row):
                columns.micro(micro, is_ok=row.type is Type.OK)
        except ValueError as error:
            raise HistoryError(f"operation {row.number}: {error}") from error
        first.append(len(columns.kind))
    return Transactions(
        process=np.array([row.process for row in rows], dtype=np.int64),
        type=np.array([row.type for row in rows], dtype=np.int8),
        invoke=np.array([row.invoke for row in rows], dtype=np.int64),
        complete=np.array([row.complete for row in rows], dtype=np.int64),
        number=np.array([row.number for row in rows], dtype=np.int64),
        completion=np.array([row.completion for row in rows], dtype=np.int64),
        first=np.array(first, dtype=np.int64),
        kind=np.array(columns.kind, dtype=np.int8),
        key=np.array(columns.key, dtype=np.int64),
        value=np.array(columns.value, dtype=np.int64),
        known=np.array(columns.known, dtype=np.bool_),
        read_first=np.array(columns.read_first, dtype=np.int64),
        elements=np.array(columns.elements, dtype=np.int64),
        keys=columns.keys.shown,
        values=columns.values.shown,
    )
