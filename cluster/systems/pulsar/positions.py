"""Message ids as offsets. Pulsar knows a message by the ledger that it is in and its number there, the entry.

A topic's ledgers follow each other with ascending ids, so an offset is the ledger times ten million plus the entry:
message 12:345 is at 120,000,345. Offsets ascend as message ids do, with gaps behind each ledger's end. All of it is
pure.
"""

from typing import Final, NamedTuple

from cluster.systems._shared.link import Malformed

PER_LEDGER: Final = 10_000_000
"""A ledger has fewer entries: it ends after ten minutes or more, by ``managedLedgerMinLedgerRolloverTimeMinutes``."""


class MessageId(NamedTuple):
    """Where a message is. Of ledger -1: in front of all."""

    ledger: int
    entry: int


EARLIEST: Final = MessageId(-1, -1)
NOWHERE: Final = MessageId(-1, -1)
"""What a broker says of a message that it has already, where it removes duplicates."""


def offset_of(where: MessageId) -> int:
    """The offset of a message. Raises Malformed: a ledger with so many entries has none."""
    if where.ledger < 0 or not 0 <= where.entry < PER_LEDGER:
        raise Malformed(f"no offset for the message {where.ledger}:{where.entry}")
    return where.ledger * PER_LEDGER + where.entry


def place_of(offset: int) -> MessageId:
    """Where a reader is set to be given what is at an offset and behind."""
    return EARLIEST if offset <= 0 else MessageId(*divmod(offset, PER_LEDGER))
