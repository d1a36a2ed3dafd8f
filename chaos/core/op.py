"""Operations: what a client asked for and what it was told.

An operation has an invocation and at most one completion: ``ok`` (took effect), ``fail`` (certainly
did not), ``info`` (nobody knows). No completion is ``info``. ``not-sent`` is the harness' own word:
the operation was due, the bound on operations in flight was reached, and it never left.

The module refuses to know how operations are stored (``recorder``) or judged (``checkers``).
"""

from enum import IntEnum
from typing import Final, NamedTuple

import msgspec


class Type(IntEnum):
    """The record types of a stream. The numbers are part of the on-disk format."""

    INVOKE = 1
    OK = 2
    FAIL = 3
    INFO = 4
    NOT_SENT = 5
    END = 6  # the stream's writer ended properly; carries nothing else

    @property
    def word(self) -> str:
        """The word used in tables and reports."""
        return self.name.lower().replace("_", "-")


class F(IntEnum):
    """What an operation does. The numbers are part of the on-disk format."""

    SEND = 1  # append one value to a queue
    POLL = 2  # weak read: any prefix is legal
    READ = 3  # strong read: from an offset to the broker's maximum, at the leader only
    SLAVE_READ = 4  # read at a replica that does not lead; always weak
    DRAIN = 5  # the final strong read of a whole queue, minimum to maximum, on a fresh connection
    COMMIT = 6  # let the consumer group go on at an offset of a queue; an overwritten register, at the leader
    COMMITTED_READ = 7  # strong read of the offset at which the group goes on
    REPLICA = 8  # after the drain: one replica's own copy of a queue, whole; no client's read
    SCHEDULE = 9  # a send that must not be given to anybody before its time
    TRANSACT = 10  # a half message and what its producer decides of it
    POP = 11  # take what nobody else has for a while, to be acknowledged one by one
    ACK = 12  # done with one popped message
    EXTEND = 13  # keep one popped message longer

    @property
    def word(self) -> str:
        """The word used in tables and reports."""
        return self.name.lower().replace("_", "-")


STRONG_READS: Final = (F.READ, F.DRAIN)
SENDS: Final = (F.SEND, F.SCHEDULE, F.TRANSACT)
HOLDS: Final = (F.ACK, F.EXTEND)
"""What the holder of a popped message says of it."""

POPS: Final = (F.POP, *HOLDS)

VALUED: Final = (*SENDS, *HOLDS)
"""Kinds whose invocation names a value."""

READS: Final = (F.POLL, F.READ, F.SLAVE_READ, F.DRAIN)
"""What clients were given; what a replica holds is not among them."""
FINAL: Final = (F.DRAIN, F.REPLICA)
"""What is asked after the load: it is nobody's load."""


class Value(NamedTuple):
    """A value is (writer number, sequence number), unique in the run."""

    writer: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.writer}:{self.sequence}"


class Record(NamedTuple):
    """One record a read returned.

    ``value`` is None if the body was not one of ours or was damaged. ``attempt``: the how-manieth time the broker
    says that it gives it away, from 1; 0 where it says nothing of that. ``offset`` is -1 for a popped message that
    the broker gives from elsewhere than its place in the queue.
    """

    offset: int
    value: Value | None
    attempt: int = 0


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """What a client is asked to do, once, before ``deadline_ns``.

    ``offset`` is where a read starts (None for sends; for DRAIN the queue's minimum is asked first), or what
    is committed. ``wait_ms``: how long a POLL that finds nothing may wait at the broker for a first record.
    ``producer`` and ``producer_sequence``: a SEND that the broker must take at most once however often it is
    attempted; -1: an ordinary one. ``argument``: the one more number that some kinds have, 0 for all others: of a POP
    and an EXTEND for how many ns nobody else may be given what was popped, of a REPLICA the position in the run's
    nodes of who is asked. An ACK and an EXTEND name in ``value`` what they are about, and in ``offset`` where it was
    popped from.
    """

    process: int
    f: F
    key: int
    deadline_ns: int
    value: Value | None = None
    offset: int | None = None
    body_bytes: int = 0
    wait_ms: int = 0
    producer: str = ""
    producer_sequence: int = -1
    argument: int = 0


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """What the client was told.

    ``offset``: of an ok send; in an info send it is a hint only; of an ACK or EXTEND the place it is about.
    ``next_offset``, ``min_offset`` and ``max_offset``: of a read, as the broker said them (None where it did not); a
    COMMITTED_READ has its answer in ``next_offset``, None if the group never committed. ``node``: who served it, by
    name.
    ``error``: one short line, stable enough to group by (no numbers that vary).
    """

    type: Type
    node: str | None = None
    offset: int | None = None
    next_offset: int | None = None
    min_offset: int | None = None
    max_offset: int | None = None
    records: tuple[Record, ...] = ()
    error: str | None = None
