"""Transactions as columns: what the judge looks at, wherever they come from.

A transaction is a list of micro-operations. Each reads a key, appends an element to the list of a key, or writes the
register of a key. Columns are flat: ``first`` says which micro-operations belong to which transaction, ``read_first``
which elements belong to which read of a list.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.basics.variable_lengths import offsets
from chaos.core.op import Type
from chaos.formats.txn_columns import MicroKind as Kind
from checkers.history.columns import Ints, Mask

NEVER: Final = (1 << 63) - 1
"""``complete`` of a transaction that was not answered, or whose answer says nothing."""
NIL: Final = -(1 << 63)
"""``value`` of a read of a register that holds nothing, and of a micro-operation that has no value. All other values,
and all elements, are 0 or more and below 2^31."""

__all__ = ["NEVER", "NIL", "Kind", "Micro", "Transaction", "Transactions", "columns", "was_observed"]

Kinds = npt.NDArray[np.int8]


class Transactions(msgspec.Struct, frozen=True, kw_only=True):
    """All transactions of a history, ascending by ``invoke``.

    n transactions, m micro-operations, e elements read:

    - ``process`` (n): who ran it, one transaction at a time. ``type`` (n): OK, FAIL (it did not happen) or INFO (nobody
      knows). ``invoke``, ``complete`` (n): integers of one order. Transaction a is over before b begins iff
      ``complete[a] < invoke[b]``; ``complete`` of INFO is ``NEVER``. ``number`` (n): where people find the transaction.
      ``completion`` (n): the number of its completion, which decides between cycles that are as good; any will do.
    - ``first`` (n + 1): micro-operations of transaction i are ``first[i]`` to ``first[i + 1]``, in their order.
    - ``kind``, ``key`` (m): a ``Kind``, and the key's id. ``value`` (m): the element appended, or the value of the
      register that was read or written; ``NIL`` for none. ``known`` (m): False for a read that nobody was told of.
    - ``read_first`` (m + 1): what micro-operation j read are ``elements[read_first[j]:read_first[j + 1]]``; none for an
      empty list, and for all that is no read of a list.
    - ``elements`` (e).
    - ``keys``: key ids in words. ``values``: element and value ids in words; None where an id is the value itself.
    """

    process: Ints
    type: Kinds
    invoke: Ints
    complete: Ints
    number: Ints
    completion: Ints
    first: Ints
    kind: Kinds
    key: Ints
    value: Ints
    known: Mask
    read_first: Ints
    elements: Ints
    keys: Sequence[Any]
    values: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.process)

    def owner(self) -> Ints:
        """Of each micro-operation the transaction that it belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def shown(self, value: int) -> Any:
        """A value or an element as people know it; None for ``NIL``."""
        if value == NIL:
            return None
        return value if self.values is None else self.values[value]

    def only(self, chosen: Mask) -> "Transactions":
        """Some transactions, by whether each is one; keys and values keep their ids."""
        micros = chosen[self.owner()]
        reads = np.repeat(micros, np.diff(self.read_first))
        return msgspec.structs.replace(
            self,
            **{name: getattr(self, name)[chosen] for name in _OF_TRANSACTIONS},
            **{name: getattr(self, name)[micros] for name in _OF_MICROS},
            first=offsets(np.diff(self.first)[chosen]),
            read_first=offsets(np.diff(self.read_first)[micros]),
            elements=self.elements[reads],
        )

    def read_of(self, micro: int) -> list[int]:
        """The elements that a micro-operation read."""
        found: list[int] = self.elements[self.read_first[micro] : self.read_first[micro + 1]].tolist()
        return found


_OF_TRANSACTIONS: Final = ("process", "type", "invoke", "complete", "number", "completion")
_OF_MICROS: Final = ("kind", "key", "value", "known")


def was_observed(transactions: Transactions) -> Mask:
    """Of each transaction whether an ok one read something that it appended or wrote."""
    t, owner = transactions, transactions.owner()
    ok_reads = (t.kind == Kind.READ) & t.known & (t.type[owner] == Type.OK)
    lengths = np.diff(t.read_first)
    key = np.concatenate((t.key[ok_reads], np.repeat(t.key, lengths)[np.repeat(ok_reads, lengths)]))
    value = np.concatenate((t.value[ok_reads], t.elements[np.repeat(ok_reads, lengths)]))
    seen = ((key << 32) | value)[value != NIL]
    writes = np.flatnonzero(t.kind != Kind.READ)
    found = np.zeros(len(t), dtype=np.bool_)
    found[owner[writes[np.isin((t.key[writes] << 32) | t.value[writes], seen)]]] = True
    return found


class Micro(msgspec.Struct, frozen=True):
    """One micro-operation as a literal. ``value``: a list (or None) for a read of a list. ``known``: of reads."""

    kind: Kind
    key: Any
    value: Any = None
    known: bool = True


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """One transaction as a literal; ``complete`` of an unanswered or INFO one is ``NEVER``."""

    process: int
    type: Type
    invoke: int
    complete: int
    micros: tuple[Micro, ...]
    number: int = 0


def columns(transactions: Iterable[Transaction]) -> Transactions:
    """Literals as columns. Keys and values are numbered in order of their first use.

    A value that is a list is one that a read of a list was told.
    """
    rows = sorted(transactions, key=lambda one: one.invoke)
    micros = [micro for one in rows for micro in one.micros]
    keys: dict[Any, int] = {}
    values: dict[Any, int] = {}

    def numbered(value: Any) -> int:
        return NIL if value is None else values.setdefault(value, len(values))

    reads = [micro.value if isinstance(micro.value, list | tuple) else () for micro in micros]
    elements = [numbered(one) for read in reads for one in read]
    single = [NIL if isinstance(micro.value, list | tuple) else numbered(micro.value) for micro in micros]

    def ints(numbers: Iterable[int]) -> Ints:
        return np.fromiter(numbers, dtype=np.int64)

    return Transactions(
        process=ints(one.process for one in rows),
        type=np.array([one.type for one in rows], dtype=np.int8),
        invoke=ints(one.invoke for one in rows),
        complete=ints(NEVER if one.type == Type.INFO else one.complete for one in rows),
        number=ints(one.number for one in rows),
        completion=np.arange(len(rows), dtype=np.int64),
        first=offsets(ints(len(one.micros) for one in rows)),
        kind=np.array([micro.kind for micro in micros], dtype=np.int8),
        key=ints(keys.setdefault(micro.key, len(keys)) for micro in micros),
        value=ints(single),
        known=np.array([micro.known for micro in micros], dtype=np.bool_),
        read_first=offsets(ints(map(len, reads))),
        elements=ints(elements),
        keys=list(keys),
        values=list(values),
    )
