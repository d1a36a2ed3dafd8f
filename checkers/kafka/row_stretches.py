"""Stretches: neighbouring rows of the table of messages that are of one record, one kind and one log.

A poll that returns many messages of a log is one of them, so that what is asked of all its rows alike is asked once.
"""

import numpy as np

from chaos.formats.kafka_columns import Mop, Mops
from checkers.history.columns import Ints, starts_of


class Stretches:
    """All stretches of a table, in its order.

    Attributes:
        start, end: first row of each and the row behind its last.
        op, kind, key: what all its rows have in common.
    """

    def __init__(self, mops: Mops) -> None:
        self.start = starts_of(mops.op, mops.key, mops.kind)
        self.end: Ints = np.append(self.start[1:], len(mops.op))[: len(self.start)]
        self.op, self.kind, self.key = mops.op[self.start], mops.kind[self.start], mops.key[self.start]

    def rows(self, kind: Mop) -> Ints:
        """The rows of one kind, ascending."""
        own = np.flatnonzero(self.kind == kind)
        return rows_of(self.start[own], self.end[own])


def rows_of(start: Ints, end: Ints) -> Ints:
    """The rows from ``start`` to before ``end``, of one stretch after the other."""
    count = end - start
    if (count == 1).all():
        return start
    behind = np.cumsum(count)
    return np.repeat(end - behind, count) + np.arange(int(behind[-1]))
