"""Dependencies of many on many, in linear size: all that read the end of a list come before all appends behind it.

Among transactions these are pairs, and a history may have n^2 of them. Here a bundle has sources and targets: each
source comes before each target, but no transaction before itself. In a graph chains of points stand for the pairs: a
transaction that is both source and target leads to the points before its own place and to those behind it.
"""

from typing import NamedTuple

import numpy as np

from chaos.basics.variable_lengths import spread
from checkers.cycles.components import Arrows
from checkers.cycles.shapes import Relation
from checkers.history.columns import Ints, Mask
from checkers.txn.dependencies import Dependencies


class Side(NamedTuple):
    """The sources or targets of all bundles, ascending by bundle and transaction; of a bundle each transaction once.

    ``micro``: the micro-operation that shows it.
    """

    bundle: Ints
    transaction: Ints
    micro: Ints

    def only(self, chosen: Mask) -> "Side":
        """Some rows."""
        return Side(self.bundle[chosen], self.transaction[chosen], self.micro[chosen])


def side(bundle: Ints, owner: Ints, micro: Ints) -> Side:
    """One side of bundles.

    Args:
        bundle: of each row the bundle that it belongs to.
        owner: of all micro-operations their transactions.
        micro: of each row its micro-operation; of several of a transaction the first row counts.
    """
    transaction = owner[micro]
    order = np.lexsort((transaction, bundle))
    found = Side(bundle[order], transaction[order], micro[order])
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (found.bundle[1:] != found.bundle[:-1]) | (found.transaction[1:] != found.transaction[:-1])
    return found.only(new)


class Bundles(NamedTuple):
    """Bundles of anti-dependencies (rw)."""

    sources: Side
    targets: Side

    def _targets_of(self) -> tuple[Ints, Ints]:
        """Of each source where the targets of its bundle begin and end."""
        bundle = self.targets.bundle
        lo, hi = (np.searchsorted(bundle, self.sources.bundle, side=side) for side in ("left", "right"))
        return lo, hi

    def has_pairs(self) -> bool:
        """Whether any transaction comes before another."""
        lo, hi = self._targets_of()
        alone = hi - lo == 1
        same = np.zeros(len(lo), dtype=np.bool_)
        same[alone] = self.targets.transaction[lo[alone]] == self.sources.transaction[alone]
        return bool(((hi > lo) & ~same).any())

    def arrows(self, size: int, first_point: int) -> tuple[Arrows, int]:
        """The pairs as ways over points, and how many points there are.

        Args:
            size: transactions are numbers below it.
            first_point: the node that the first point is.
        """
        targets, count = self.targets, len(self.targets.bundle)
        upto, since = first_point + np.arange(count), first_point + count + np.arange(count)
        linked = np.flatnonzero(targets.bundle[1:] == targets.bundle[:-1])
        lo, hi = self._targets_of()
        codes = targets.bundle * size + targets.transaction
        own = self.sources.bundle * size + self.sources.transaction
        at = np.searchsorted(codes, own)
        is_target = np.zeros(len(own), dtype=np.bool_)
        near = np.flatnonzero(at < hi)
        is_target[near] = codes[at[near]] == own[near]
        last = np.where(is_target, at, hi) - 1
        before = np.flatnonzero(last >= lo)
        behind = np.flatnonzero(is_target & (at + 1 < hi))
        who = self.sources.transaction
        source = (upto, since, upto[linked + 1], since[linked], who[before], who[behind])
        target = (
            *(targets.transaction, targets.transaction),
            *(upto[linked], since[linked + 1], upto[last[before]], since[at[behind] + 1]),
        )
        return Arrows(np.concatenate(source), np.concatenate(target)), 2 * count

    def within(self, label: Ints, inside: Mask) -> "Bundles":
        """The pairs between transactions that are inside and have the same label.

        Args:
            label: of each transaction.
            inside: of each transaction.
        """
        sources, targets = (one.only(inside[one.transaction]) for one in self)
        labels = int(label.max(initial=0)) + 1
        codes = [one.bundle * labels + label[one.transaction] for one in (sources, targets)]
        _, bundle = np.unique(np.concatenate(codes), return_inverse=True)
        cut = len(codes[0])
        return Bundles(_sorted(bundle[:cut], sources), _sorted(bundle[cut:], targets))

    def renumbered(self, place: Ints) -> "Bundles":
        """The same with other numbers for transactions; these ascend as the old ones do."""
        return Bundles(*(one._replace(transaction=place[one.transaction]) for one in self))

    def pairs(self, most: int) -> tuple[Dependencies, bool]:
        """The pairs one by one, and whether these are all.

        Args:
            most: about how many are made at most; every source has some.
        """
        lo, hi = self._targets_of()
        counts = hi - lo
        whole = int(counts.sum()) <= most
        if not whole:
            counts = np.minimum(counts, max(1, most // len(counts)))
        source, target = np.repeat(np.arange(len(counts)), counts), spread(lo, counts)
        apart = self.sources.transaction[source] != self.targets.transaction[target]
        source, target = source[apart], target[apart]
        relation = np.full(len(source), int(Relation.RW), dtype=np.int8)
        found = Dependencies(
            self.sources.transaction[source],
            self.targets.transaction[target],
            relation,
            self.sources.micro[source],
            self.targets.micro[target],
        )
        return found, whole


def _sorted(bundle: Ints, one: Side) -> Side:
    order = np.lexsort((one.transaction, bundle))
    return Side(bundle[order], one.transaction[order], one.micro[order])


_NONE = np.empty(0, dtype=np.int64)
NO_BUNDLES = Bundles(Side(_NONE, _NONE, _NONE), Side(_NONE, _NONE, _NONE))
"""No pairs."""
