"""A broker's commit log in memory: the records in order, and what is derived from them.

Everything here can be rebuilt from the records, and is after a restart: the epochs with their starts, each queue's
positions, the offsets that groups committed, the sequence numbers of producers. Truncation takes all of it back. What
may be appended, removed, confirmed or read is decided by its users.
"""

import zlib
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from cluster.systems.minimq.protocol.broker_messages import COMMIT, DATA, MASTER_EPOCH_NONE, Record


class QueueKey(NamedTuple):
    """A queue of a topic."""

    topic: str
    queue: int


class Owned(NamedTuple):
    """A producer's or a group's part in one queue."""

    owner: str
    key: QueueKey


Key = TypeVar("Key", QueueKey, Owned)

LEAST_OFFSET = 0
"""Nothing is removed by age, so every queue starts here."""


def is_intact(record: Record) -> bool:
    """Whether the body is the one that the master took from the client."""
    return zlib.crc32(record.body) == record.crc


class CommitLog:
    """Records at the positions 0 .. ``end`` - 1."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.end = 0
        self._records: list[Record] = []
        self._epochs: list[tuple[int, int]] = []
        self._queues: dict[QueueKey, list[int]] = {}
        self._commits: dict[Owned, list[int]] = {}
        self._sequences: dict[Owned, list[int]] = {}
        for record in records:
            self.append(record)

    @property
    def epochs(self) -> list[tuple[int, int]]:
        """(epoch, position of its first record), ascending."""
        return self._epochs

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 if there is none."""
        return self._epochs[-1][0] if self._epochs else MASTER_EPOCH_NONE

    def at(self, index: int) -> Record:
        """The record at a position below ``end``."""
        return self._records[index]

    def slice(self, start: int, records_max: int, bytes_max: int) -> tuple[Record, ...]:
        """Records from ``start`` on within both bounds, but at least one if there is one."""
        return _bounded(self._records[start : start + records_max], bytes_max)

    def append(self, record: Record) -> int:
        """Add a record; returns its position."""
        index = self.end
        self._records.append(record)
        self.end = index + 1
        if record.epoch != self.last_epoch:
            self._epochs.append((record.epoch, index))
        key = QueueKey(record.topic, record.queue)
        if record.kind == COMMIT:
            self._commits.setdefault(Owned(record.writer, key), []).append(index)
            return index
        self._queues.setdefault(key, []).append(index)
        if record.sequence >= 0:
            self._sequences.setdefault(Owned(record.writer, key), []).append(index)
        return index

    def truncate(self, start: int) -> None:
        """Remove the records at ``start`` and above, with all that was derived from them."""
        while len(self._records) > start:
            record = self._records.pop()
            key = QueueKey(record.topic, record.queue)
            if record.kind == COMMIT:
                _pop(self._commits, Owned(record.writer, key))
                continue
            _pop(self._queues, key)
            if record.sequence >= 0:
                _pop(self._sequences, Owned(record.writer, key))
        while self._epochs and self._epochs[-1][1] >= start:
            self._epochs.pop()
        self.end = len(self._records)

    def queue_length(self, key: QueueKey) -> int:
        """How many data records the queue holds, confirmed or not."""
        return len(self._queues.get(key, ()))

    def queue_end(self, key: QueueKey, below: int) -> int:
        """The end of the queue's offsets, counting only positions below ``below``."""
        return bisect_left(self._queues.get(key, []), below)

    def read(self, key: QueueKey, offset: int, below: int, records_max: int, bytes_max: int) -> tuple[Record, ...]:
        """The queue's records from ``offset`` on at positions below ``below``; within both bounds, but at least one."""
        stop = min(self.queue_end(key, below), offset + records_max)
        positions = self._queues.get(key, [])[offset:stop]
        return _bounded([self._records[position] for position in positions], bytes_max)

    def last_commit(self, group: str, key: QueueKey, below: int) -> Record | None:
        """The group's last commit at a position below ``below``."""
        positions = self._commits.get(Owned(group, key), [])
        count = bisect_left(positions, below)
        return self._records[positions[count - 1]] if count else None

    def sequences(self, producer: str, key: QueueKey) -> list[int]:
        """The positions of the producer's numbered records in the queue; the n-th has the sequence number n."""
        return self._sequences.get(Owned(producer, key), [])


def data_record(epoch: int, key: QueueKey, offset: int, body: bytes, producer: str, sequence: int) -> Record:
    """A client's message as the master stores it."""
    return Record(
        epoch=epoch,
        kind=DATA,
        topic=key.topic,
        queue=key.queue,
        offset=offset,
        writer=producer,
        sequence=sequence,
        crc=zlib.crc32(body),
        body=body,
    )


def commit_record(epoch: int, key: QueueKey, group: str, offset: int) -> Record:
    """A group's committed offset as the master stores it."""
    return Record(
        epoch=epoch,
        kind=COMMIT,
        topic=key.topic,
        queue=key.queue,
        offset=offset,
        writer=group,
        sequence=-1,
        crc=zlib.crc32(b""),
        body=b"",
    )


def _pop(positions: dict[Key, list[int]], key: Key) -> None:
    held = positions[key]
    held.pop()
    if not held:
        del positions[key]


def _bounded(records: list[Record], bytes_max: int) -> tuple[Record, ...]:
    total = 0
    for count, record in enumerate(records):
        total += len(record.body)
        if total > bytes_max and count:
            return tuple(records[:count])
    return tuple(records)
