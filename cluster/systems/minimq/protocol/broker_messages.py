"""What brokers store, say to each other and are asked by clients, as frozen structs.

Shells turn these into msgpack by their tags. Positions are indices of a broker's one commit log, from 0, and an end is
the position after the last record; offsets count the data records of one queue, from 0. Replication follows Kafka's
pull with <last epoch, end> (KIP-101, KIP-595) under RocketMQ's controller mode (RIP-44).

``Produced``, ``CommitDone``, ``Polled``, ``Offsets`` and ``Committed`` are ok. ``Rejected`` is definite: nothing was
done. ``Indefinite`` is not known.
"""

from typing import Literal

import msgspec

from cluster.systems.minimq.protocol.messages import Indefinite, Name

DATA = 0
COMMIT = 1

MASTER_EPOCH_NONE = 0
"""The last epoch of an empty log: masters' epochs start at 1."""


class Record(msgspec.Struct, frozen=True, kw_only=True, tag=True, array_like=True):
    """One record of the commit log.

    ``kind`` DATA: ``offset`` is its place in the queue, ``writer`` the producer, ``sequence`` that producer's number
    in this queue (-1: not idempotent). ``kind`` COMMIT: ``writer`` is a group and ``offset`` what it committed.
    ``crc`` is the CRC-32 of the body as it came from the client.
    """

    epoch: int
    kind: int
    topic: str
    queue: int
    offset: int
    writer: str
    sequence: int
    crc: int
    body: bytes


# ---------------------------------------------------------------- between brokers


class Fetch(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A follower in ``epoch`` wants what follows its log, which ends at ``end`` with a record of ``last_epoch``.

    ``held``: the end of what it would find again after a crash, as its flush mode counts. ``round`` and ``confirmed``
    are the newest that it heard in this epoch.
    """

    epoch: int
    end: int
    last_epoch: int
    held: int
    round: int
    confirmed: int


class Held(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A follower whose log was found to agree in ``epoch`` holds more than its last fetch said."""

    epoch: int
    held: int
    round: int


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The master's last epoch not above the follower's, and where it ends in the master's log."""

    epoch: int
    end: int


class FetchAnswer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The master's answer to the fetch at (``end``, ``last_epoch``): what follows, or where the logs part."""

    epoch: int
    end: int
    last_epoch: int
    confirmed: int
    round: int
    records: tuple[Record, ...] = ()
    divergence: Divergence | None = None


ReplicaMessage = Fetch | Held | FetchAnswer

# ---------------------------------------------------------------- from clients


class Produce(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Append ``body``. With a ``sequence`` >= 0, which starts at 0 per producer and queue, at most once."""

    topic: str
    queue: int
    body: bytes
    producer: Name = ""
    sequence: int = -1


class Poll(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A weak read: up to ``records_max`` confirmed records from ``offset`` on; waits for the first if there is none.

    Every broker that has a master answers, so a poll may miss the newest records.
    """

    topic: str
    queue: int
    offset: int
    records_max: int
    wait_ms: int = 0


class Read(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A strong read, of the master only: as ``Poll``, and ``end`` misses nothing acknowledged before it was asked."""

    topic: str
    queue: int
    offset: int
    records_max: int


class GetOffsets(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The queue's least offset and its confirmed end; strong as ``Read``."""

    topic: str
    queue: int


class Commit(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Let ``group`` go on at ``offset`` of the queue."""

    group: Name
    topic: str
    queue: int
    offset: int


class FetchCommitted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Where ``group`` goes on; strong as ``Read``."""

    group: Name
    topic: str
    queue: int


class GetReplica(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What this broker believes of itself now, stale or not; for observers."""


StrongRead = Read | GetOffsets | FetchCommitted
BrokerRequest = Produce | Poll | StrongRead | Commit | GetReplica

# ---------------------------------------------------------------- to clients


class Produced(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Acknowledged: the record is at ``offset``, appended in ``epoch``. ``repeated``: it was there before."""

    offset: int
    epoch: int
    repeated: bool = False


class CommitDone(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Acknowledged: the group's offset was taken in ``epoch``."""

    epoch: int


class Polled(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Confirmed records in the order of their offsets, and the offset where what is readable here ends."""

    records: tuple[Record, ...]
    end: int
    epoch: int


class Offsets(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The queue holds the offsets from ``least`` up to, not including, ``end``."""

    least: int
    end: int
    epoch: int


class Committed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Where the group goes on; ``offset`` None: it never committed in this queue."""

    offset: int | None
    epoch: int


RejectedReason = Literal[
    "not-master", "too-few-in-sync", "unknown-queue", "out-of-sequence", "bad-request", "too-large", "busy"
]


class Rejected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Certainly not done. ``master`` is a hint where to ask."""

    reason: RejectedReason
    master: str | None = None


class ReplicaStatus(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A broker's belief of itself; ``end``, ``held`` and ``confirmed`` are positions of its log.

    ``queue_ends``: topic → for each of its queues the offset after the last record here, confirmed or not.
    """

    role: Literal["master", "follower", "none"]
    epoch: int
    master: str | None
    sync_state_set: tuple[str, ...]
    sss_epoch: int
    end: int
    held: int
    confirmed: int
    queue_ends: dict[str, tuple[int, ...]] = {}


BrokerAnswer = Produced | CommitDone | Polled | Offsets | Committed | Rejected | Indefinite | ReplicaStatus
