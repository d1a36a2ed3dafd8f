"""Why one transaction comes before another: dependencies as columns, each with the micro-operations that show it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.cycles.shapes import Relation
from checkers.history.columns import Ints, Mask


class Dependencies(NamedTuple):
    """Pairs of different transactions; a pair may come more than once.

    ``before``, ``after``: the micro-operations of either that show it; -1 for an order of transactions as a whole.
    """

    source: Ints
    target: Ints
    relation: npt.NDArray[np.int8]
    before: Ints
    after: Ints

    def of(self, relations: int) -> "Dependencies":
        """Those of some relations."""
        return self.only((self.relation & relations) != 0)

    def only(self, chosen: Mask | Ints) -> "Dependencies":
        """Those at some places."""
        return Dependencies(
            self.source[chosen], self.target[chosen], self.relation[chosen], self.before[chosen], self.after[chosen]
        )


def shown_by(owner: Ints, before: Ints, after: Ints, relation: Relation) -> Dependencies:
    """Dependencies that pairs of micro-operations show; pairs within a transaction show none.

    Args:
        owner: of each micro-operation its transaction.
        before: micro-operations of the earlier transactions, or -1 for none.
        after: those of the later ones, or -1.
        relation: of all.
    """
    real = (before >= 0) & (after >= 0)
    before, after = before[real], after[real]
    source, target = owner[before], owner[after]
    apart = source != target
    found = source[apart]
    relations = np.full(len(found), int(relation), dtype=np.int8)
    return Dependencies(found, target[apart], relations, before[apart], after[apart])


def join_dependencies(*several: Dependencies) -> Dependencies:
    """All of several."""
    return Dependencies(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


def by_process(process: Ints, is_ok: Mask) -> Dependencies:
    """Each process's ok transactions, one to the next."""
    own = np.flatnonzero(is_ok)
    own = own[np.argsort(process[own], kind="stable")]
    same = process[own[1:]] == process[own[:-1]]
    source, target = own[:-1][same], own[1:][same]
    nothing = np.full(len(source), -1, dtype=np.int64)
    relation = np.full(len(source), int(Relation.PROCESS), dtype=np.int8)
    return Dependencies(source, target, relation, nothing, nothing)
