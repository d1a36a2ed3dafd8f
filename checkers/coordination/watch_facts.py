"""What a history of writes and watches says: every event as columns, and what is known of every revision.

A *place* is an entry at a revision. An event tells what became of the entry there.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.models.coordination.watch import DELETED, READ, UNREAD, WATCHES, WRITES, F
from chaos.models.objects.answers import TOLD
from checkers.history.check_input import QueueShard
from checkers.history.columns import Ints

Place = tuple[int, int]
"""Revision and entry."""

_COLUMNS: Final = ("batch", "event_revision", "event_entry", "event_value", "previous_revision", "previous_value")


class Naming(NamedTuple):
    """What entries and values are called in sentences."""

    entry: Callable[[int], str] = "entry {}".format
    value: Callable[[int], str] = str


class SessionRead(NamedTuple):
    """What the session of a follow read of an entry.

    ``watch``: as of ``Told``. ``place``: how many events of all watches stand before it. ``revision``: when the entry
    was last changed, 0 where it was not there. ``applied``: the last revision that the server had applied.
    """

    watch: int
    place: int
    revision: int
    entry: int
    value: int
    applied: int


class Told(NamedTuple):
    """All events of all watches, watch by watch in the order in which they came: columns of equal length.

    ``watch``: the place of the watch in ``ops``. ``ops``: the watches' operations. ``since``: the first revision that
    each watch was asked for. ``reached``: up to which revision each was said to have been told everything, None: nobody
    says so. ``reads``: what sessions read, in the order in which it came.
    """

    ops: Ints
    since: Ints
    watch: Ints
    batch: Ints
    revision: Ints
    entry: Ints
    value: Ints
    previous_revision: Ints
    previous_value: Ints
    reached: Ints | None = None
    naming: Naming = Naming()
    reads: Sequence[SessionRead] = ()


def told_of(shard: QueueShard) -> Told:
    """The events of every watch that was told any, however it ended.

    A follow was told everything up to what the server had applied at its last read: what a server tells comes in order.
    """
    columns = shard.operations
    of = np.flatnonzero(np.isin(shard.ops.f, [*WATCHES]) & (columns["answer"] == TOLD))
    lists = [columns.lists(name).of(of) for name in _COLUMNS]
    rows = [one.values for one in lists]
    watch = np.repeat(np.arange(len(of)), lists[0].sizes)
    is_read = (rows[0] == READ) & (shard.ops.f[of] == F.FOLLOW)[watch]
    places = np.cumsum(~is_read)[is_read]
    reached = np.zeros(len(of), np.int64)
    _, revision, entry, value, applied, _ = (column[is_read] for column in rows)
    np.maximum.at(reached, watch[is_read], applied)
    reads = map(SessionRead._make, np.stack([watch[is_read], places, revision, entry, value, applied], axis=1).tolist())
    batch, revision, entry, value, before, value_before = (column[~is_read] for column in rows)
    return Told(
        ops=of,
        since=columns["revision"][of],
        watch=watch[~is_read],
        batch=batch,
        revision=revision,
        entry=entry,
        value=value,
        previous_revision=before,
        previous_value=value_before,
        reached=reached,
        reads=tuple(reads),
    )


class Write(NamedTuple):
    """One write: its operation, how it ended, at which revision if it was told, its changes, which did something."""

    op: int
    type: Type
    revision: int
    changes: dict[int, int]
    did: frozenset[int]


class Writes:
    """All writes of a space."""

    def __init__(self, shard: QueueShard) -> None:
        columns, ops = shard.operations, shard.ops
        self.all: list[Write] = []
        for op in np.flatnonzero(np.isin(ops.f, [*WRITES])).tolist():
            entries, values = (list(map(int, columns[name][op])) for name in ("change_entry", "change_value"))
            kind = Type(int(ops.type[op]))
            told = kind is Type.OK and columns["answer"][op] == TOLD
            effects = int(columns["effects"][op])
            did = frozenset(entry for place, entry in enumerate(entries) if told and effects >> place & 1)
            changes = dict(zip(entries, values, strict=True))
            self.all.append(Write(op, kind, int(columns["revision"][op]), changes, did))

    @cached_property
    def at(self) -> dict[int, Write]:
        """Revision → the write that was told it, where it did something."""
        return {one.revision: one for one in self.all if one.did}

    @cached_property
    def of_value(self) -> dict[int, Write]:
        """Value → its write."""
        return {value: one for one in self.all for value in one.changes.values() if value != DELETED}

    @cached_property
    def open_deletes(self) -> frozenset[int]:
        """Entries that a write of which nobody knows may have deleted."""
        return frozenset(entry for entry, value in self._open_changes() if value == DELETED)

    @cached_property
    def open_puts(self) -> frozenset[int]:
        """Entries that a write of unknown outcome may have given a value."""
        return frozenset(entry for entry, value in self._open_changes() if value != DELETED)

    def _open_changes(self) -> Iterator[tuple[int, int]]:
        return (change for one in self.all if one.type is Type.INFO for change in one.changes.items())


def _values_first(places: set[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Places with their values in order. Those whose value was never read come last."""
    return sorted(places, key=lambda one: (one[2] == UNREAD, one))


class Known:
    """What became of which entry at which revision for certain: by acknowledged writes, and by what fits a write.

    ``strange``: places that an event or a read of a session names and no write explains, each with why.
    """

    def __init__(self, told: Told, writes: Writes) -> None:
        self.value: dict[Place, int] = {
            (one.revision, entry): one.changes[entry] for one in writes.at.values() for entry in one.did
        }
        self.strange: dict[tuple[int, int, int], str] = {}
        self._writes = writes
        self._took_place: dict[int, int] = {}
        by_op = {one.op: one for one in writes.all}
        triples = np.unique(np.stack([told.revision, told.entry, told.value], axis=1), axis=0)
        read = {(one.revision, one.entry, one.value) for one in told.reads if one.value != DELETED}
        for revision, entry, value in _values_first({*map(tuple, triples.tolist()), *read}):
            why = self._unexplained(revision, entry, value)
            if why:
                self.strange[revision, entry, value] = why
            else:
                self.value.setdefault((revision, entry), value)
        for op, revision in self._took_place.items():
            puts = ((entry, value) for entry, value in by_op[op].changes.items() if value != DELETED)
            self.value |= {(revision, entry): value for entry, value in puts}

    def _unexplained(self, revision: int, entry: int, value: int) -> str:
        """Why no write explains an event, or what was read; empty if one does."""
        known = self.value.get((revision, entry))
        if known is not None and value == UNREAD:
            return "" if known != DELETED else "the entry was deleted at that revision"
        if known is not None:
            return "" if known == value else "another value was written at that revision"
        if revision in self._writes.at:
            return "the write of this revision did not change the entry"
        if value == DELETED:
            return "" if entry in self._writes.open_deletes else "no client can have deleted the entry then"
        if value == UNREAD:
            return "" if entry in self._writes.open_puts else "no client can have written to the entry then"
        return self._unwritten(revision, entry, value)

    def _unwritten(self, revision: int, entry: int, value: int) -> str:
        """Why a value was not written at a revision that no client was told of its write."""
        write = self._writes.of_value.get(value)
        if write is None or write.changes.get(entry) != value:
            return "no client wrote this value to the entry"
        if write.type is not Type.INFO:
            return "its write took place at another revision" if write.type is Type.OK else "its write certainly failed"
        if self._took_place.setdefault(write.op, revision) != revision:
            return "its write took place at another revision too"
        return ""

    def writer(self, revision: int) -> int | None:
        """The operation of the acknowledged write that made a revision; None if it is not known."""
        write = self._writes.at.get(revision)
        return None if write is None else write.op

    def before(self, revision: int, entry: int) -> Place:
        """Revision and value of the latest known change of an entry before a revision; 0 and ``DELETED`` for none."""
        own = self._of_entry.get(entry, [])
        place = bisect_left(own, (revision, UNREAD)) - 1  # the lowest of all values
        return own[place] if place >= 0 else (0, DELETED)

    def may_have_been(self, entry: int, latest: int, revision: int, value: int) -> bool:
        """Whether an unknown change behind the latest known one may have left a value, or nothing, in an entry."""
        if value == DELETED:
            return revision == 0 and entry in self._writes.open_deletes
        write = self._writes.of_value.get(value)
        in_doubt = write is not None and write.type is Type.INFO and write.changes.get(entry) == value
        return in_doubt and revision > latest

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """Revisions and entries of all places, in order."""
        ordered = sorted(self.value)
        revisions, entries = zip(*ordered, strict=True) if ordered else ((), ())
        return np.array(revisions, np.int64), np.array(entries, np.int64)

    @cached_property
    def _of_entry(self) -> dict[int, list[Place]]:
        """Entry → revisions and values of its changes, in order."""
        out: dict[int, list[Place]] = {}
        for (revision, entry), value in sorted(self.value.items()):
            out.setdefault(entry, []).append((revision, value))
        return out
