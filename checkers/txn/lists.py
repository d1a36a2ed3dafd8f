"""Lists that transactions append to: in which order elements came, and the dependencies that follow from it.

A read of a list shows all appends before it in their order, so the longest read of a key is the order of its appends
(Kingsbury and Alvaro, "Elle", VLDB 2020). A key that was appended to only once needs no read. Appends that nobody read
come after all that were; they have no order between each other.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from chaos.basics.variable_lengths import spread
from chaos.core.op import Type
from checkers.cycles.shapes import Relation
from checkers.history.columns import Ints, Mask
from checkers.txn.dependencies import Dependencies, join_dependencies, shown_by
from checkers.txn.edge_bundles import Bundles, side
from checkers.txn.transactions import Kind, Transactions

_CHUNK: Final = 1 << 22
"""Elements that are looked at together."""

_NOWHERE: Final = 1 << 62


class Written:
    """Which micro-operation brought a value of a key.

    Args:
        transactions: all.
        micros: the appends or writes that count; of several that bring the same the last one is given.
    """

    def __init__(self, transactions: Transactions, micros: Ints) -> None:
        codes = _codes(transactions.key[micros], transactions.value[micros])
        order = np.argsort(codes, kind="stable")
        self.codes, self.micros = codes[order], micros[order]

    def by(self, key: Ints, value: Ints) -> Ints:
        """The micro-operation that brought each value of a key; -1 for none."""
        if not len(self.codes):
            return np.full(len(key), -1, dtype=np.int64)
        codes = _codes(key, value)
        at = np.searchsorted(self.codes, codes, side="right") - 1
        return np.where(self.codes[at] == codes, self.micros[at], -1)

    @property
    def repeated(self) -> Ints:
        """Micro-operations that bring what another one brought."""
        return self.micros[np.flatnonzero(self.codes[1:] == self.codes[:-1]) + 1]


def _codes(key: Ints, value: Ints) -> Ints:
    return (key.astype(np.int64) << 32) | value


@dataclass(slots=True)
class Order:
    """The elements of all keys in their order, key after key; of a key they are ``first[key]`` to ``first[key + 1]``.

    Attributes:
        value: the elements.
        append: the append of each; -1 if there is none.
        once: False for an element that came before in its key.
    """

    first: Ints
    value: Ints
    append: Ints
    once: Mask


class Lists:
    """A history of appends and reads of lists, with what is known of each read."""

    def __init__(self, transactions: Transactions) -> None:
        self.t = transactions
        self.owner = transactions.owner()
        self.type = transactions.type[self.owner]
        self.keys = len(transactions.keys)
        is_append = transactions.kind == Kind.APPEND
        self.possible = self.type != Type.FAIL
        self.written = Written(transactions, np.flatnonzero(is_append))
        self.appends = np.flatnonzero(is_append & self.possible)
        self.lengths: Ints = np.diff(transactions.read_first)
        self.reads = np.flatnonzero((transactions.kind == Kind.READ) & transactions.known & self.possible)

    @cached_property
    def longest(self) -> Ints:
        """Of each key a longest read; -1 if there is none but of an empty list."""
        key, length = self.t.key[self.reads], self.lengths[self.reads]
        most = np.zeros(self.keys, dtype=np.int64)
        np.maximum.at(most, key, length)
        found = np.full(self.keys, -1, dtype=np.int64)
        chosen = (length == most[key]) & (length > 0)
        found[key[chosen][::-1]] = self.reads[chosen][::-1]
        return found

    @cached_property
    def order(self) -> Order:
        """The order of the elements of each key."""
        t = self.t
        read = self.longest
        counts = np.where(read >= 0, self.lengths[read], 0)
        times = np.bincount(t.key[self.appends], minlength=self.keys)
        single = (counts == 0) & (times == 1)
        counts[single] = 1
        first = np.concatenate(([0], np.cumsum(counts)))
        value = np.empty(int(first[-1]), dtype=np.int64)
        longer = np.flatnonzero(read >= 0)
        value[spread(first[longer], counts[longer])] = t.elements[spread(t.read_first[read[longer]], counts[longer])]
        alone = self.appends[single[t.key[self.appends]]]
        value[first[t.key[alone]]] = t.value[alone]
        key = np.repeat(np.arange(self.keys), counts)
        return Order(first, value, self.written.by(key, value), _first_times(key, value))

    @cached_property
    def broken(self) -> Mask:
        """Of each read whether it is no beginning of the longest one of its key; False for what is no read."""
        t, order = self.t, self.order
        found = np.zeros(len(t.kind), dtype=np.bool_)
        reads = self.reads[self.lengths[self.reads] > 0]
        ends = np.cumsum(self.lengths[reads])
        lo = 0
        while lo < len(reads):
            done = ends[lo - 1] if lo else 0
            hi = max(lo + 1, int(np.searchsorted(ends, done + _CHUNK, side="right")))
            some = reads[lo:hi]
            counts = self.lengths[some]
            read = self._elements(some, counts)
            known = order.value[spread(order.first[t.key[some]], counts)]
            wrong = np.flatnonzero(read != known)
            found[np.unique(np.repeat(some, counts)[wrong])] = True
            lo = hi
        return found

    def _elements(self, reads: Ints, counts: Ints) -> Ints:
        """The elements of some reads, ascending; ``counts``: of each."""
        first = self.t.read_first[reads]
        lo, hi = int(first[0]), int(first[-1] + counts[-1])
        return self.t.elements[lo:hi] if hi - lo == counts.sum() else self.t.elements[spread(first, counts)]

    @cached_property
    def odd(self) -> Mask:
        """Keys whose reads have to be looked at one by one: they disagree, or show what never was or no longer is."""
        found = np.zeros(self.keys, dtype=np.bool_)
        found[self.t.key[self.broken]] = True
        order = self.order
        key = np.repeat(np.arange(self.keys), np.diff(order.first))
        failed = (order.append >= 0) & ~self.possible[order.append]
        found[key[(order.append < 0) | failed | ~order.once]] = True
        return found

    @cached_property
    def last(self) -> Ints:
        """Of each of ``reads`` the append of its last element; -1 for an empty list, or if there is none."""
        t, order, reads = self.t, self.order, self.reads
        length, key = self.lengths[reads], t.key[reads]
        found = np.full(len(reads), -1, dtype=np.int64)
        usual = np.flatnonzero((length > 0) & ~self.odd[key])
        found[usual] = order.append[order.first[key[usual]] + length[usual] - 1]
        others = np.flatnonzero((length > 0) & self.odd[key])
        found[others] = self.written.by(key[others], t.elements[t.read_first[reads[others] + 1] - 1])
        return found

    def source(self, before: int, after: int) -> str:  # noqa: ARG002 - reads show every order of lists
        """Nothing: the order of a list is shown by reads of it."""
        return ""

    def witnesses(self, before: int, after: int) -> tuple[int, ...]:  # noqa: ARG002 - both are of one key
        """The transaction with the longest read of the key of a micro-operation."""
        read = int(self.longest[self.t.key[before]])
        return (int(self.owner[read]),) if read >= 0 else ()

    def dependencies(self) -> Dependencies:
        """Who appended before whom, who read whose append, and who read what somebody then appended to."""
        return join_dependencies(self._appended(), self._observed(), self._overtaken())

    def bundles(self) -> Bundles:
        """rw: reads of all that was read of a key, and all appends to it that nobody read."""
        key, at = self.t.key, self._places
        own, first = key[self.reads], self._distinct[1]
        final = self.reads[(at >= first[own] - 1) & (at + 1 == first[own + 1])]
        unread = self._unread
        return Bundles(side(key[final], self.owner, final), side(key[unread], self.owner, unread))

    def _possible(self, micros: Ints) -> Ints:
        """Micro-operations, -1 for those that did not happen."""
        return np.where((micros >= 0) & self.possible[micros], micros, -1)

    @cached_property
    def _distinct(self) -> tuple[Ints, Ints]:
        """The appends of the order, without repetitions, and where each key's begin."""
        order = self.order
        counts = np.concatenate(([0], np.cumsum(order.once)))
        return order.append[order.once], counts[order.first]

    @cached_property
    def _unread(self) -> Ints:
        """Appends that are not in the order of their key, by key."""
        placed = np.zeros(len(self.t.kind), dtype=np.bool_)
        placed[self.order.append[self.order.append >= 0]] = True
        own = self.appends[~placed[self.appends]]
        return own[np.argsort(self.t.key[own], kind="stable")]

    def _last_of(self, key: Ints) -> Ints:
        """The last append in the order of each key; -1 for none."""
        appends, first = self._distinct
        at = first[key + 1] - 1
        return np.where(first[key + 1] > first[key], appends[at] if len(appends) else -1, -1)

    def _appended(self) -> Dependencies:
        """ww: neighbours in the order of a key, and the last of them before all that nobody read."""
        appends, first = self._distinct
        follows = np.ones(len(appends), dtype=np.bool_)
        follows[first[:-1][first[:-1] < len(appends)]] = False
        at = np.flatnonzero(follows)
        before, after = appends[at - 1], appends[at]
        unread = self._unread
        last = self._last_of(self.t.key[unread])
        pairs = self._possible(np.concatenate((before, last))), self._possible(np.concatenate((after, unread)))
        return shown_by(self.owner, *pairs, Relation.WW)

    def _observed(self) -> Dependencies:
        """wr: an append, and the reads that end with its element."""
        return shown_by(self.owner, self._possible(self.last), self.reads, Relation.WR)

    def _overtaken(self) -> Dependencies:
        """rw: a read, and the append to what it read."""
        appends, first = self._distinct
        key, at = self.t.key[self.reads], self._places
        follows = np.flatnonzero((at >= first[key] - 1) & (at + 1 < first[key + 1]))
        return shown_by(self.owner, self.reads[follows], self._possible(appends[at[follows] + 1]), Relation.RW)

    @cached_property
    def _places(self) -> Ints:
        """Of each of ``reads`` the place of its last element in the order without repetitions.

        One before its key's first for an empty list, less for an element that is in no place.
        """
        order, first, reads = self.order, self._distinct[1], self.reads
        key, length = self.t.key[reads], self.lengths[reads]
        found = first[key] + length - 1
        others = np.flatnonzero((length > 0) & self.odd[key])
        value = self.t.elements[self.t.read_first[reads[others] + 1] - 1]
        own = np.repeat(np.arange(self.keys), np.diff(order.first))
        codes = _codes(own[order.once], order.value[order.once])
        by_code = np.argsort(codes, kind="stable")
        wanted = _codes(key[others], value)
        at = by_code[np.minimum(np.searchsorted(codes, wanted, sorter=by_code), max(len(codes) - 1, 0))]
        found[others] = np.where(codes[at] == wanted, at, -_NOWHERE)
        return found


def _first_times(key: Ints, value: Ints) -> Mask:
    """Whether each value is the first one like it of its key."""
    codes = _codes(key, value)
    order = np.argsort(codes, kind="stable")
    again = codes[order[1:]] == codes[order[:-1]]
    found = np.ones(len(codes), dtype=np.bool_)
    found[order[1:][again]] = False
    return found
