"""Micro-operations of one transaction on one key: which come before which."""

from typing import NamedTuple

import numpy as np

from checkers.history.columns import Ints, Mask
from checkers.txn.transactions import Kind, Transactions


class Touched(NamedTuple):
    """Micro-operations by transaction, key and place.

    ``group``: equal for those of one transaction and key; it counts from 0 without gaps.
    """

    micro: Ints
    group: Ints

    def start(self) -> Ints:
        """Of each row the first row of its group."""
        first = np.flatnonzero(np.diff(self.group, prepend=-1))
        found: Ints = first[self.group]
        return found


def touches_of(transactions: Transactions, owner: Ints) -> Touched:
    """All micro-operations, by transaction, key and place."""
    order = np.lexsort((transactions.key, owner))
    key, own = transactions.key[order], owner[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (key[1:] != key[:-1]) | (own[1:] != own[:-1])
    return Touched(order, np.cumsum(new) - 1)


def previous_rows(rows: Ints, chosen: Mask, start: Ints) -> Ints:
    """Of each row the last chosen row before it in its group; -1 for none.

    Args:
        rows: 0, 1, …
        chosen: which rows may be given.
        start: of each row the first row of its group.
    """
    latest = np.maximum.accumulate(np.where(chosen, rows, -1))
    found = np.concatenate((np.array([-1], dtype=np.int64), latest[:-1]))
    return np.where(found >= start, found, -1)


def intermediate(transactions: Transactions, by: Touched) -> Mask:
    """Of each micro-operation whether it brings a value that its own transaction replaces or adds to later."""
    writes = by.micro[transactions.kind[by.micro] != Kind.READ]
    group = by.group[transactions.kind[by.micro] != Kind.READ]
    found = np.zeros(len(transactions.kind), dtype=np.bool_)
    found[writes[:-1][group[1:] == group[:-1]]] = True
    return found


def updates(transactions: Transactions, by: Touched, is_ok: Mask) -> tuple[Ints, Ints]:
    """Reads that a later write of the same key in their transaction rests on, and the first such write.

    The read is the first one of its key, and no write came before it unless that one had nothing to rest on.

    Args:
        transactions: all.
        by: their micro-operations.
        is_ok: of each micro-operation whether its transaction was ok.
    """
    rows, start = np.arange(len(by.micro)), by.start()
    is_read = transactions.kind[by.micro] == Kind.READ
    reads_before = previous_rows(rows, is_read, start) >= 0
    resting = ~is_read & reads_before & is_ok[by.micro]
    first = np.flatnonzero(resting & (previous_rows(rows, resting, start) < 0))
    first_read = np.full(len(rows), -1, dtype=np.int64)
    reads = np.flatnonzero(is_read)[::-1]
    first_read[start[reads]] = reads
    return by.micro[first_read[start[first]]], by.micro[first]
