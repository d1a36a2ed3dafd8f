"""The operations of one key by column, and which of them make up a queue's log.

Columns are read when they are first asked for. Indices called ``op`` point into the operations. Does not hold what
reads returned (``checkers.history.log`` does).
"""

from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from chaos.core.op import Type
from chaos.models.log.transaction import COMMITTING
from chaos.models.log.words import READS, SENDS, STRONG_READS, F
from checkers.history.columns import Column, Ints, Mask, is_among
from checkers.history.rows import Columns

_Column = TypeVar("_Column")


class _Told(Generic[_Column]):
    """A column of the operations, read when it is first asked for."""

    def __init__(self, column: str) -> None:
        self._column = column

    def __set_name__(self, owner: type["Operations"], name: str) -> None:
        self._name = name

    def __get__(self, operations: "Operations", owner: type["Operations"]) -> _Column:
        column: Any = operations.operations[self._column]
        operations.__dict__[self._name] = column
        return cast("_Column", column)


class Operations:
    """All operations of one key, whatever its model: the columns that every model has.

    ``operations`` as in ``QueueShard``.
    """

    f = _Told[npt.NDArray[np.int8]]("f")
    type = _Told[npt.NDArray[np.int8]]("type")
    invoke = _Told[Ints]("invoke_ns")
    complete = _Told[Ints]("complete_ns")
    node = _Told[npt.NDArray[np.int16]]("node")
    deadline = _Told[Ints]("deadline_ns")
    scheduled = _Told[Ints]("scheduled_ns")

    def __init__(self, operations: Columns) -> None:
        self.operations = operations

    def of(self, column: str, ops: Ints) -> Column:
        """A column of some operations; it is not read whole for a few."""
        return self.operations.at(column, ops)

    def identity(self, op: int) -> dict[str, int]:
        """What names an operation in the tables."""
        return {name: self.told_of(name, op) for name in ("worker", "op")}

    def told_of(self, column: str, op: int) -> int:
        """A number of one operation."""
        return int(self.of(column, np.array([op]))[0])


class LogOperations(Operations):
    """All operations of one queue."""

    offset = _Told[Ints]("offset")
    next = _Told[Ints]("next_offset")
    min = _Told[Ints]("min_offset")
    max = _Told[Ints]("max_offset")
    argument = _Told[Ints]("argument")

    @cached_property
    def sends(self) -> Ints:
        """Ops of the sends: a vid is a place here."""
        return np.flatnonzero(is_among(self.f, SENDS))

    @cached_property
    def withheld(self) -> Mask:
        """Per sent vid: whether it is a transaction that its producer never commits, so nobody may be given it."""
        transactions: Mask = np.equal(self.f, F.TRANSACT)
        if not transactions.any():
            return np.zeros(len(self.sends), dtype=np.bool_)
        decided = [int(decision) for decision in COMMITTING]
        withheld: Mask = transactions[self.sends] & ~np.isin(self.argument[self.sends], decided)
        return withheld

    @cached_property
    def _must_be_there(self) -> Mask:
        """Per operation: whether it is an acknowledged send that must be in the log."""
        out: Mask = is_among(self.f, SENDS) & np.equal(self.type, Type.OK)
        if bool((self.f == F.TRANSACT).any()):
            out[self.sends[self.withheld]] = False
        return out

    @cached_property
    def acked_sends(self) -> Ints:
        """Ops of the acknowledged sends that must be in the log."""
        return np.flatnonzero(self._must_be_there)

    @cached_property
    def acked(self) -> Ints:
        """Their vids."""
        return np.flatnonzero(self._must_be_there[self.sends])

    @cached_property
    def read_ops(self) -> Ints:
        """Ops of the reads by clients."""
        return np.flatnonzero(is_among(self.f, READS))

    @cached_property
    def ok_reads(self) -> Ints:
        """Ops of the ok reads."""
        return self.read_ops[np.equal(self.type[self.read_ops], Type.OK)]

    @cached_property
    def strong_reads(self) -> Ints:
        """Ops of the ok strong reads."""
        return self.ok_reads[is_among(self.f[self.ok_reads], STRONG_READS)]

    @cached_property
    def begin(self) -> Ints:
        """Per operation: where a read began (a final read begins at the broker's minimum)."""
        return np.where(self.offset >= 0, self.offset, np.maximum(self.min, 0))

    def begin_of(self, op: int) -> int:
        """Where one read began."""
        asked = self.told_of("offset", op)
        return asked if asked >= 0 else max(self.told_of("min_offset", op), 0)
