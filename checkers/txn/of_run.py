"""Transactions of a run of our own as columns: from the table of operations of one key space."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from chaos.basics.variable_lengths import offsets
from chaos.core.op import Type
from chaos.models.transactions.words import OF_LISTS, UNTOLD
from checkers.history.columns import Column, Ints
from checkers.txn.transactions import NEVER, NIL, Kind, Transactions

_IDS: Final = 1 << 31
"""Ids of values are below this."""


class OfRun(NamedTuple):
    """Transactions of a space. ``rows``: of each its row in the table. ``lists``: what keys are; None: some of both."""

    transactions: Transactions
    rows: Ints
    lists: bool | None


def transactions_of(operations: Mapping[str, Column], lists_words: frozenset[int] = OF_LISTS) -> OfRun:
    """The transactions of a space, as they are judged; those that never left are none.

    A transaction's number is its row. What it read counts only where it was ok: one that did not happen may have been
    told anything, by whoever could not commit it.

    Args:
        operations: columns of the table, ascending by invocation.
        lists_words: the numbers of the words whose keys are lists.
    """
    rows = np.flatnonzero(operations["type"] != Type.NOT_SENT)
    is_list = np.isin(operations["f"][rows], list(lists_words))
    lists = bool(is_list.all()) if is_list.all() or not is_list.any() else None
    does, key, asked, length = (_flat(operations[name], rows) for name in _MICROS)
    counts = np.array([len(one) for one in operations["does"][rows]], dtype=np.int64)
    type_ = operations["type"][rows].astype(np.int8)
    type_[(type_ != Type.OK) & (type_ != Type.FAIL)] = Type.INFO
    is_read, ok = does == Kind.READ, np.repeat(type_ == Type.OK, counts)
    told = np.maximum(length, 0)
    elements = _flat(operations["elements"], rows)[np.repeat(ok, told)]
    read = np.where(ok, told, 0)
    value = np.where(is_read, NIL, asked)
    if lists is False:
        single = is_read & (read > 0)
        value[single] = elements[offsets(read)[:-1][single]]
    keys, key_ids = np.unique(key, return_inverse=True)
    value, elements, values = _numbered(value, elements if lists else elements[:0])
    return OfRun(
        Transactions(
            process=operations["process"][rows].astype(np.int64),
            type=type_,
            invoke=operations["invoke_ns"][rows],
            complete=np.where(type_ == Type.INFO, NEVER, operations["complete_ns"][rows]),
            number=rows,
            completion=rows,
            first=offsets(counts),
            kind=does.astype(np.int8),
            key=key_ids.astype(np.int64),
            value=value,
            known=~is_read | (ok & (length != UNTOLD)),
            read_first=offsets(read if lists else np.zeros_like(read)),
            elements=elements,
            keys=keys.tolist(),
            values=values,
        ),
        rows,
        lists,
    )


_MICROS: Final = ("does", "micro_key", "micro_value", "length")


def _flat(column: Column, rows: Ints) -> Ints:
    return np.fromiter(chain.from_iterable(column[rows]), dtype=np.int64)


def _numbered(value: Ints, elements: Ints) -> tuple[Ints, Ints, Sequence[int] | None]:
    """Values and elements as ids, and what these stand for; None where they are small enough themselves."""
    there = value != NIL
    every = np.concatenate((value[there], elements))
    if not len(every) or (int(every.min()) >= 0 and int(every.max()) < _IDS):
        return value, elements, None
    shown, ids = np.unique(every, return_inverse=True)
    own = value.copy()
    own[there] = ids[: int(there.sum())]
    return own, ids[int(there.sum()) :].astype(np.int64), shown.tolist()
