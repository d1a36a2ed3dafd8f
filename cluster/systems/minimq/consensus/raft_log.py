"""The controllers' log in memory, and what a restart makes of the durable records.

It is not compacted: it grows by elections, SyncStateSet changes and topics, not by traffic, and a run ends. Whether
an entry may be removed or counted is not decided here.
"""

from collections.abc import Iterable, Sequence

import msgspec

from cluster.systems.minimq.consensus.raft_rules import Position
from cluster.systems.minimq.protocol.io import Truncate
from cluster.systems.minimq.protocol.messages import Entry, HardState


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What a controller finds at its start; empty at the first."""

    term: int = 0
    voted_for: str | None = None
    entries: tuple[Entry, ...] = ()


def recover(records: Iterable[HardState | Entry | Truncate]) -> Stored:
    """The state left by a prefix of the durable records, in the order of their tokens.

    Raises:
        ValueError: an entry does not follow the one before it: the records are not a core's own.
    """
    last = HardState(term=0, voted_for=None)
    log = Log()
    for record in records:
        match record:
            case HardState():
                last = record
            case Entry():
                log.append(record)
            case Truncate(start=start):
                log.truncate(start)
    return Stored(term=last.term, voted_for=last.voted_for, entries=log.after(0, log.last_index))


class Log:
    """Entries from index 1 without gaps."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._entries: list[Entry] = []
        for entry in entries:
            self.append(entry)

    @property
    def last_index(self) -> int:
        """The index of the last entry, 0 when there is none."""
        return len(self._entries)

    @property
    def last(self) -> Position:
        """The (term, index) of the last entry."""
        return self.term_at(self.last_index), self.last_index

    def term_at(self, index: int) -> int:
        """The term of the entry at ``index``; 0 before the first, -1 beyond the last."""
        if index == 0:
            return 0
        return self._entries[index - 1].term if index <= self.last_index else -1

    def first_of_term_at(self, index: int) -> int:
        """The least index from which the entries up to ``index``, which exists, are all of one term."""
        while index > 1 and self.term_at(index - 1) == self.term_at(index):
            index -= 1
        return index

    def after(self, index: int, count_max: int) -> tuple[Entry, ...]:
        """At most ``count_max`` entries that follow ``index``."""
        return tuple(self._entries[index : index + count_max])

    def append(self, entry: Entry) -> None:
        """Add the next entry.

        Raises:
            ValueError: it is not the next one.
        """
        if entry.index != self.last_index + 1:
            raise ValueError(f"log entry {entry.index} cannot follow entry {self.last_index}: the log has a gap")
        self._entries.append(entry)

    def truncate(self, start: int) -> None:
        """Remove the entries at ``start`` and above."""
        del self._entries[max(start, 1) - 1 :]
