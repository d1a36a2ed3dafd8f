"""Registers that transactions read and write: dependencies from values and from what is known of their order."""

from functools import cached_property
from typing import Final

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from checkers.cycles.shapes import Relation
from checkers.history.columns import Ints, Mask
from checkers.txn.anomaly_cases import Case, Cases, counted_cases
from checkers.txn.dependencies import Dependencies, join_dependencies, shown_by
from checkers.txn.edge_bundles import Bundles, side
from checkers.txn.list_scans import same_updates
from checkers.txn.lists import Written
from checkers.txn.same_key_operations import intermediate, previous_rows, touches_of, updates
from checkers.txn.transactions import NIL, Kind, Transactions, was_observed
from checkers.txn.versions import Cyclic, Versions
from checkers.txn.words import Words

_WITNESSES: Final = 16
"""Transactions that are told beside one step of a cycle."""


class Registers:
    """A history of reads and writes of registers.

    Args:
        transactions: all.
        wfr: within a transaction writes replace what it read.
        sequential: each process meets the versions of a key in their order.
        linearizable: each key follows real time.
        strict: INFO transactions whose writes were read count as having happened.
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        wfr: bool = False,
        sequential: bool = False,
        linearizable: bool = False,
        strict: bool = False,
    ) -> None:
        self.t = transactions
        self.owner = transactions.owner()
        self.type = transactions.type[self.owner]
        self.is_ok: Mask = self.type == Type.OK
        self.words = Words(transactions, lists=False)
        self.by = touches_of(transactions, self.owner)
        self.written = Written(transactions, np.flatnonzero(transactions.kind == Kind.WRITE))
        is_read = (transactions.kind == Kind.READ) & transactions.known
        self.ok_reads = np.flatnonzero(is_read & self.is_ok)
        self.versions = Versions(transactions, self.owner, wfr=wfr, sequential=sequential, linearizable=linearizable)
        happened = transactions.type == Type.OK
        if strict:
            happened |= (transactions.type == Type.INFO) & was_observed(transactions)
        self.happened: Mask = happened[self.versions.touches.transaction]

    def dependencies(self) -> Dependencies:
        """Who read whose write, and who replaced whose."""
        versions, writer = self.versions, self._writer
        rows = np.flatnonzero(versions.read >= 0)
        reads = versions.touches.read[rows]
        observed = shown_by(self.owner, writer[versions.read[rows]], reads, Relation.WR)
        earlier, later = versions.arrows
        return join_dependencies(observed, shown_by(self.owner, writer[earlier], writer[later], Relation.WW))

    def bundles(self) -> Bundles:
        """rw: those who read a version, and those who wrote what comes next."""
        versions, writer = self.versions, self._writer
        rows = np.flatnonzero(versions.read >= 0)
        earlier, later = versions.arrows
        known = np.flatnonzero(writer[later] >= 0)
        return Bundles(
            side(versions.read[rows], self.owner, versions.touches.read[rows]),
            side(earlier[known], self.owner, writer[later[known]]),
        )

    @cached_property
    def _writer(self) -> Ints:
        """The write that brought each version; -1 for none that counts."""
        versions = self.versions
        rows = np.flatnonzero(self.happened & (versions.written >= 0))
        found = np.full(len(versions.code), -1, dtype=np.int64)
        found[versions.written[rows]] = versions.touches.write[rows]
        return found

    def source(self, before_micro: int, after_micro: int) -> str:
        """Which source says that the version of one micro-operation comes before that of another."""
        versions = self.versions
        pair = versions.version_of(np.array([before_micro, after_micro]))
        at = np.flatnonzero((versions.arrows.source == pair[0]) & (versions.arrows.target == pair[1]))
        return versions.names[int(versions.sources[at[0]])]

    def witnesses(self, before_micro: int, after_micro: int) -> tuple[int, ...]:
        """Ok transactions that met the versions of two micro-operations."""
        versions = self.versions
        pair = versions.version_of(np.array([before_micro, after_micro]))
        met = np.isin(versions.read, pair) | np.isin(versions.written, pair)
        found = np.unique(versions.touches.transaction[met & versions.is_ok])
        return tuple(found[:_WITNESSES].tolist())

    def scans(self) -> list[Cases]:
        """What needs no cycle."""
        scans = (self.cyclic, self.internal, self.future, self.aborted, self.phantoms, self.between, self.lost)
        return [one for scan in scans for one in scan()]

    def _read_case(self, micro: int, sentence: str, *others: int) -> Case:
        own = int(self.owner[micro])
        told = f"{self.words.who(own)} read {self.words.key(micro)} as {self.words.read(micro)}, {sentence}"
        return Case(told, (own, *others))

    def cyclic(self) -> list[Cases]:
        """cyclic-versions: what is known of the versions of a key contradicts itself. A case per such set."""
        found = self.versions.cyclic
        return counted_cases("cyclic-versions", np.arange(len(found)), tell=lambda one: self._cyclic_case(found[one]))

    def _cyclic_case(self, cyclic: Cyclic) -> Case:
        versions, touches = self.versions, self.versions.touches
        values = [self.words.value(versions.value_of(int(one))) for one in cyclic.versions[:8]]
        more = f" and {len(cyclic.versions) - 8} more" if len(cyclic.versions) > 8 else ""  # noqa: PLR2004 - as many as are named
        rows = np.flatnonzero(np.isin(versions.read, cyclic.versions) | np.isin(versions.written, cyclic.versions))
        sources = join_names(cyclic.sources)
        sentence = f"the values {', '.join(values)}{more} of key {self.words.key_id(cyclic.key)} come before each other"
        return Case(f"{sentence}, by {sources}", tuple(np.unique(touches.transaction[rows]).tolist()))

    def internal(self) -> list[Cases]:
        """internal: a read disagrees with what its own transaction read or wrote last. A case per transaction."""
        by, t = self.by, self.t
        rows, start = np.arange(len(by.micro)), by.start()
        earlier = previous_rows(rows, np.ones(len(rows), dtype=np.bool_), start)
        is_read = (t.kind[by.micro] == Kind.READ) & self.is_ok[by.micro] & (earlier >= 0)
        at = np.flatnonzero(is_read & (t.value[by.micro] != t.value[by.micro[earlier]]))
        read, known = by.micro[at], by.micro[earlier[at]]
        order = np.argsort(read)
        _, places = np.unique(self.owner[read[order]], return_index=True)

        def tell(micro: int, other: int) -> Case:
            did = "read it as" if t.kind[other] == Kind.READ else "written"
            value = self.words.value(int(t.value[other]))
            return self._read_case(micro, f"although it had itself {did} {value} before")

        return counted_cases("internal", read[order][places], known[order][places], tell=tell)

    def future(self) -> list[Cases]:
        """future-read: a transaction read a value that it wrote only later. A case per transaction."""
        write = self._writes_read()
        found = np.flatnonzero((write > self.ok_reads) & (self.owner[write] == self.owner[self.ok_reads]))
        read = self.ok_reads[found]
        _, places = np.unique(self.owner[read], return_index=True)
        return counted_cases(
            "future-read", read[places], tell=lambda micro: self._read_case(micro, "which it wrote only afterwards")
        )

    def _writes_read(self) -> Ints:
        """The write that each ok read shows; -1 for none."""
        return self.written.by(self.t.key[self.ok_reads], self.t.value[self.ok_reads])

    def aborted(self) -> list[Cases]:
        """G1a: an ok transaction read what a failed one wrote. A case per read."""
        write = self._writes_read()
        failed = np.flatnonzero((write >= 0) & (self.type[write] == Type.FAIL))

        def tell(micro: int, one: int) -> Case:
            other = int(self.owner[one])
            return self._read_case(micro, f"a value of {self.words.who(other)}, which failed", other)

        return counted_cases("G1a", self.ok_reads[failed], write[failed], tell=tell)

    def phantoms(self) -> list[Cases]:
        """phantom: an ok transaction read a value that nobody wrote. A case per read."""
        nobody = np.flatnonzero((self._writes_read() < 0) & (self.t.value[self.ok_reads] != NIL))
        return counted_cases(
            "phantom", self.ok_reads[nobody], tell=lambda micro: self._read_case(micro, "which nobody wrote")
        )

    def between(self) -> list[Cases]:
        """G1b: an ok transaction read what another one replaced in the same transaction. A case per read."""
        write = self._writes_read()
        early = intermediate(self.t, self.by)
        found = np.flatnonzero((write >= 0) & early[write] & (self.owner[write] != self.owner[self.ok_reads]))

        def tell(micro: int, one: int) -> Case:
            other = int(self.owner[one])
            return self._read_case(
                micro, f"a value that {self.words.who(other)} replaced in the same transaction", other
            )

        return counted_cases("G1b", self.ok_reads[found], write[found], tell=tell)

    def lost(self) -> list[Cases]:
        """lost-update: several ok transactions read the same value and all replaced it. A case per value."""
        reads, writes = updates(self.t, self.by, self.is_ok)
        value = self.t.value[reads]
        state = (self.t.key[reads] << 32) | np.where(value == NIL, 0, value + 1)
        return same_updates(self.words, self.owner, reads, writes, state)
