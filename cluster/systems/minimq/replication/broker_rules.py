"""The decisions on which a broker's promises rest, each one small and pure, so that each can be read and bent alone.

Everything else in the broker moves records and messages; these functions decide. They hold no state and refuse to
know of messages, timers or disks. Sources: Kafka's KIP-101 and KIP-595 (truncation by epochs), KIP-497 (a master counts
the members it has asked for from the moment it asks), KIP-98 (sequence numbers), KIP-966 (nothing is confirmed below
the minimum in sync); RocketMQ's RIP-44 (SyncStateSet); the in-sync replica lag of Kafka's ``Partition``.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from cluster.systems.minimq.protocol.broker_messages import BrokerRequest, Divergence, Poll, Record

Epochs = Sequence[tuple[int, int]]
"""(epoch, position of its first record), ascending in both."""


# ---------------------------------------------------------------- what an acknowledgement and a read may rest on


def held_end(log_end: int, durable_end: int, *, sync_flush: bool) -> int:
    """The end of what a replica may count as its own: with synchronous flush only what is durable."""
    return durable_end if sync_flush else log_end


def counted_members(agreed: Collection[str], proposed: Collection[str]) -> frozenset[str]:
    """Whose copies a confirmed record needs.

    ``agreed``: the SyncStateSet as the controllers last said; ``proposed``: all members asked for since. A request may
    have been accepted without the master knowing, and from then on its members may be elected; a shrink counts only
    once it is agreed, so a master that is cut off stalls.
    """
    return frozenset(agreed) | frozenset(proposed)


def confirmed_by(held: Mapping[str, int], counted: Collection[str], confirmed: int) -> int:
    """The end of what every counted member holds; it never steps back. An unheard member holds nothing."""
    return max(confirmed, min([held.get(member, 0) for member in counted], default=0))


def enough_in_sync(agreed: Collection[str], minimum: int) -> bool:
    """Whether the agreed SyncStateSet is large enough to append and to confirm."""
    return len(agreed) >= minimum


def may_acknowledge(index: int, confirmed: int, own_held: int, *, sync_replication: bool) -> bool:
    """Whether the client may be told that the record at ``index`` is kept."""
    return index < (confirmed if sync_replication else own_held)


def readable_end(confirmed: int, log_end: int) -> int:
    """The end of what readers may see."""
    return min(confirmed, log_end)


def may_answer_strongly(
    confirmed: int, takeover_end: int, rounds: Mapping[str, int], others: Collection[str], asked_round: int
) -> bool:
    """Whether the master's confirmed end misses nothing acknowledged before the read of ``asked_round`` came.

    All that earlier masters acknowledged lies below ``takeover_end``, where this one's log ended when it was elected.
    That there is no later master is shown by ``others``, the counted members but itself: a later one would be among
    them, and each was still in this epoch after the read came (the idea of ReadIndex, Ongaro 2014, section 6.4).
    """
    return confirmed >= takeover_end and all(rounds.get(member, 0) >= asked_round for member in others)


# ---------------------------------------------------------------- following


def truncation_point(epochs: Epochs, end: int, follower_epoch: int, follower_end: int) -> Divergence | None:
    """Where the logs part, in the master's words; None if the follower's log is a prefix of the master's.

    ``epochs`` and ``end`` are the master's. The records of one epoch come from one master, so two logs that hold the
    same epoch at a position agree up to it.
    """
    point = last_epoch_at_most(epochs, end, follower_epoch)
    if point.epoch == follower_epoch and follower_end <= point.end:
        return None
    return point


def truncated_end(epochs: Epochs, end: int, divergence: Divergence) -> int:
    """Where a follower with these ``epochs`` and ``end`` cuts before it asks again."""
    return min(divergence.end, last_epoch_at_most(epochs, end, divergence.epoch).end)


def last_epoch_at_most(epochs: Epochs, end: int, epoch: int) -> Divergence:
    """The newest epoch of a log that is not above ``epoch``, and its end; epoch 0 ends at 0."""
    point = Divergence(epoch=0, end=0)
    for position, (number, _) in enumerate(epochs):
        if number > epoch:
            break
        point = Divergence(epoch=number, end=epochs[position + 1][1] if position + 1 < len(epochs) else end)
    return point


def obeys(message_epoch: int, own_epoch: int) -> bool:
    """Whether a replica's message belongs to the present epoch."""
    return message_epoch == own_epoch


def deposes(heard_epoch: int, own_epoch: int) -> bool:
    """Whether what a broker was in its epoch is over because it heard of this one."""
    return heard_epoch > own_epoch


def is_other_place(told: tuple[int, str | None], known: tuple[int, str | None]) -> bool:
    """Whether the (epoch, master) that the controllers now tell of ends what a broker was in the known one."""
    return told != known


def kept_at_takeover(log_end: int) -> int:
    """The end of what a new master keeps of its log: all, since what it does not know to be confirmed may be."""
    return log_end


def batch_to_append(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """What a follower appends of a batch from its master."""
    return records


# ---------------------------------------------------------------- the SyncStateSet


def has_caught_up(held: int, confirmed: int, takeover_end: int) -> bool:
    """Whether a follower may be asked for as a member: elected, it would miss nothing that was acknowledged."""
    return held >= max(confirmed, takeover_end)


def is_in_time(caught_up_ms: int, now_ms: int, lag_max_ms: int) -> bool:
    """Whether a follower had all there was not longer than ``lag_max_ms`` ago."""
    return now_ms - caught_up_ms <= lag_max_ms


# ---------------------------------------------------------------- appending


def next_offset(queue_length: int) -> int:
    """The offset of the next record of a queue that holds so many."""
    return queue_length


def judge_sequence(expected: int, sequence: int) -> Literal["append", "repeat", "gap"]:
    """What to do with a producer's ``sequence`` when the log holds those below ``expected``."""
    if sequence == expected:
        return "append"
    return "repeat" if sequence < expected else "gap"


def repeat_waits_for(position: int) -> int:
    """The position that must be confirmed before a repeat is acknowledged whose first is at ``position``."""
    return position


# ---------------------------------------------------------------- serving


def weak_read(body: BrokerRequest) -> Poll | None:
    """The request as one that any replica may answer; None if only the master may."""
    return body if isinstance(body, Poll) else None


def awaited_offset(requested_offset: int) -> int:
    """The offset for whose record a poll waits, and from which it is answered then."""
    return requested_offset


def group_goes_on_at(last: Record | None) -> int | None:
    """Where a group goes on whose last confirmed commit is this one; None if it never committed."""
    return None if last is None else last.offset
