"""In which order a register took its values, as far as a history tells: a graph of versions for each key.

A read shows one value and nothing of its history, so orders are inferred from several sources, one after the other. One
that contradicts those before it is reported (cyclic-versions) and not used. Source: ``elle.rw-register`` of Elle 0.2.8.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from checkers.cycles.components import Arrows, components, join_arrows
from checkers.history.columns import Ints
from checkers.txn.next_accesses import next_accesses
from checkers.txn.same_key_operations import touches_of
from checkers.txn.transactions import NIL, Kind, Transactions

_NONE: Final = np.empty(0, dtype=np.int64)


class Touches(NamedTuple):
    """What each transaction did to each key it touched, seen from outside.

    Attributes:
        transactions: how many there are.
        transaction, key: of each touch.
        read: the micro-operation by which it read the key before it wrote it; -1 for none.
        write: its last write of the key; -1 for none.
    """

    transactions: int
    transaction: Ints
    key: Ints
    read: Ints
    write: Ints


def touches(transactions: Transactions, owner: Ints) -> Touches:
    """The touches of all transactions, by transaction."""
    by = touches_of(transactions, owner)
    if not len(by.micro):
        return Touches(len(transactions), _NONE, _NONE, _NONE, _NONE)
    rows = np.arange(len(by.micro))
    first = np.flatnonzero(np.diff(by.group, prepend=-1))
    kind = transactions.kind[by.micro]
    known = (kind == Kind.READ) & transactions.known[by.micro]
    read = np.where(known[first], by.micro[first], -1)
    latest = np.full(len(first), -1, dtype=np.int64)
    writes = rows[kind == Kind.WRITE]
    latest[by.group[writes]] = by.micro[writes]
    return Touches(len(transactions), owner[by.micro[first]], transactions.key[by.micro[first]], read, latest)


class Source(NamedTuple):
    """One source of version order: pairs of versions."""

    name: str
    arrows: Arrows


class Cyclic(NamedTuple):
    """Versions of a key that all come before each other. ``sources``: whose orders these are."""

    key: int
    versions: Ints
    sources: tuple[str, ...]


class Versions:
    """The versions of all keys and what is known of their order.

    Attributes:
        code: of each version its key and value, ascending; versions are numbers into it.
        arrows: pairs of versions, each pair once.
        sources: the source of each pair, by number.
        names: of sources that were used.
        cyclic: what contradicted.
    """

    def __init__(
        self, transactions: Transactions, owner: Ints, *, wfr: bool, sequential: bool, linearizable: bool
    ) -> None:
        self.t = transactions
        self.touches = touches(transactions, owner)
        self.code = self._codes()
        kind = transactions.type[self.touches.transaction]
        is_ok = kind == Type.OK
        happened = is_ok | (kind == Type.INFO)
        self.read = np.where(is_ok & (self.touches.read >= 0), self.version_of(self.touches.read), -1)
        self.written = np.where(happened & (self.touches.write >= 0), self.version_of(self.touches.write), -1)
        self.is_ok = is_ok
        asked: list[tuple[str, Callable[[], Arrows]]] = [("the initial state", self._initial)]
        asked += [("writes follow reads", self._follow)] if wfr else []
        asked += [("the order of processes", self._by_process)] if sequential else []
        asked += [("real time", self._by_time)] if linearizable else []
        self._combine(asked)

    def _codes(self) -> Ints:
        t, micro = self.t, np.flatnonzero(self.t.known | (self.t.kind == Kind.WRITE))
        codes = [_code(t.key[micro], t.value[micro]), _code(np.arange(len(t.keys)), np.full(len(t.keys), NIL))]
        every: Ints = np.sort(np.concatenate(codes))  # np.unique hashes, which takes three times as long
        found: Ints = every[np.diff(every, prepend=-1) != 0]
        return found

    def version_of(self, micro: Ints) -> Ints:
        """The versions that micro-operations read or brought."""
        return np.searchsorted(self.code, _code(self.t.key[micro], self.t.value[micro]))

    @property
    def nil(self) -> Ints:
        """Of each key the version before all writes."""
        keys = np.arange(len(self.t.keys))
        return np.searchsorted(self.code, _code(keys, np.full(len(keys), NIL)))

    def key_of(self, version: Ints) -> Ints:
        """The keys of versions."""
        found: Ints = self.code[version] >> 32
        return found

    def value_of(self, version: int) -> int:
        """A version's value."""
        value = int(self.code[version] & 0xFFFFFFFF)
        return value - 1 if value else NIL

    def _combine(self, asked: Sequence[tuple[str, Callable[[], Arrows]]]) -> None:
        self.arrows, self.sources = Arrows(_NONE, _NONE), _NONE
        self.names: list[str] = []
        self.cyclic: list[Cyclic] = []
        for name, arrows in asked:
            new = _real(arrows())
            both = join_arrows(self.arrows, new)
            wrong = list(self._cycles(both, (*self.names, name)))
            self.cyclic += wrong
            if not wrong:
                source = np.concatenate((self.sources, np.full(len(new.source), len(self.names), dtype=np.int64)))
                _, places = np.unique(both.source * len(self.code) + both.target, return_index=True)
                self.arrows, self.sources = Arrows(both.source[places], both.target[places]), source[places]
                self.names.append(name)

    def _cycles(self, arrows: Arrows, names: tuple[str, ...]) -> Iterator[Cyclic]:
        size = len(self.code)
        label, cyclic = components(size, size, arrows)
        members = np.flatnonzero(cyclic)
        order = members[np.argsort(label[members], kind="stable")]
        for group in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
            if len(group):
                yield Cyclic(int(self.key_of(group[:1])[0]), group, names)

    def _initial(self) -> Arrows:
        """Every key is nil at first, and all that was read or written comes after that."""
        met = np.zeros(len(self.code), dtype=np.bool_)
        for versions in (self.read, self.written):
            met[versions[versions >= 0]] = True
        later = np.flatnonzero(met)
        return Arrows(self.nil[self.key_of(later)], later)

    def _follow(self) -> Arrows:
        """A transaction that read a key and wrote it replaced what it read."""
        nil = self.nil[self.touches.key]
        both = self.is_ok & (self.read >= 0) & (self.written >= 0) & (self.read != nil)
        return Arrows(self.read[both], self.written[both])

    def _last_seen(self) -> Ints:
        """The version with which each touch leaves its key; -1 for unknown."""
        return np.where(self.written >= 0, self.written, self.read)

    def _first_seen(self) -> Ints:
        """The version with which each touch meets its key; one that read nil and wrote is known by what it wrote."""
        says = (self.read >= 0) & ((self.written < 0) | (self.read != self.nil[self.touches.key]))
        return np.where(says, self.read, self.written)

    def _pairs(self, before: Ints, after: Ints) -> Arrows:
        """Versions that pairs of touches leave and meet."""
        source, target = self._last_seen()[before], self._first_seen()[after]
        told = (source >= 0) & (target >= 0)
        return Arrows(source[told], target[told])

    def _by_process(self) -> Arrows:
        """Each process meets a key's versions in their order."""
        own = np.flatnonzero(self.is_ok)
        process = self.t.process[self.touches.transaction[own]]
        own = own[np.lexsort((self.touches.key[own], process))]
        process = self.t.process[self.touches.transaction[own]]
        same = (process[1:] == process[:-1]) & (self.touches.key[own[1:]] == self.touches.key[own[:-1]])
        return self._pairs(own[:-1][same], own[1:][same])

    def _by_time(self) -> Arrows:
        """Who begins when another is over meets a key's versions after it."""
        t, by = self.t, self.touches
        return self._pairs(*next_accesses(t.invoke, t.complete, t.type == Type.OK, t.type != Type.FAIL, *by[1:3]))


def _code(key: Ints, value: Ints) -> Ints:
    return (key.astype(np.int64) << 32) | np.where(value == NIL, 0, value + 1)


def _real(arrows: Arrows) -> Arrows:
    apart = arrows.source != arrows.target
    return Arrows(arrows.source[apart], arrows.target[apart])
