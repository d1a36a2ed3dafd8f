"""The words of a log, its values, and what belongs to which word.

A value is one message that the harness sent. A record is what a read returned: a value at an offset.
"""

from typing import Final, NamedTuple

from chaos.core.op import Word

MODEL: Final = "log"
"""The model's name."""


class F(Word):
    """What an operation on a log does. The numbers are part of the on-disk format."""

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


STRONG_READS: Final = (F.READ, F.DRAIN)
SENDS: Final = (F.SEND, F.SCHEDULE, F.TRANSACT)
HOLDS: Final = (F.ACK, F.EXTEND)
"""What the holder of a popped message says of it."""

POPS: Final = (F.POP, *HOLDS)

VALUED: Final = (*SENDS, *HOLDS)
"""Words whose argument names a value."""

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

    ``value`` is None if the body was not one of ours or was damaged. ``attempt``: how often the broker says that it has
    given it away, from 1; 0 where it says nothing of that. ``offset`` is -1 for a popped message that the broker gives
    from elsewhere than its place in the queue.
    """

    offset: int
    value: Value | None
    attempt: int = 0
