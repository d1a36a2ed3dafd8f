"""How the rules of membership, truncation and recovery are bent: as ``bug_rules``, for these bugs of brokers."""

import sys
from collections.abc import Collection, Mapping
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from cluster.systems.minimq.bugs.bug_rules import Bend, Replacement
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.protocol.broker_messages import Divergence
from cluster.systems.minimq.protocol.io import Effect, Event, Truncate
from cluster.systems.minimq.protocol.messages import AlterSyncStateSet
from cluster.systems.minimq.replication import broker_rules as rules
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.replication.master import Master
from cluster.systems.minimq.replication.replica_state import Replica

CHECKPOINT_RECORDS: Final = 64


# ---------------------------------------------------------------- membership


def shrink_before_agreed(notes: Notes) -> list[Replacement]:
    """A member that the master asks to leave stops counting at once, not when the controllers have agreed."""
    honest, wanted_change = rules.counted_members, Master.wanted_change
    asked: WeakKeyDictionary[Replica, frozenset[str]] = WeakKeyDictionary()

    def wanted_change_kept(master: Master) -> AlterSyncStateSet | None:
        change = wanted_change(master)
        if change is not None:
            asked[notes.broker.replica] = frozenset(change.new_set)
        return change

    def counted_members(agreed: Collection[str], proposed: Collection[str]) -> frozenset[str]:
        right = honest(agreed, proposed)
        counted = asked.get(notes.broker.replica, right) if proposed else right
        if not right <= counted:
            notes.note(sync_state_set=sorted(agreed), counted=sorted(counted))
        return counted

    return [
        Replacement(Master, "wanted_change", wanted_change_kept),
        Replacement(rules, "counted_members", counted_members),
    ]


# ---------------------------------------------------------------- truncation


def truncate_off_by_one(notes: Notes) -> list[Replacement]:
    """The master takes the end of an epoch for its last position, so a follower keeps one record too many."""
    honest = rules.truncation_point

    def truncation_point(epochs: rules.Epochs, end: int, follower_epoch: int, follower_end: int) -> Divergence | None:
        parted = honest(epochs, end, follower_epoch, follower_end)
        if parted is None or parted.epoch != follower_epoch:
            return parted
        notes.note(kept=parted.end, follower_end=follower_end)
        return None if follower_end == parted.end + 1 else Divergence(epoch=parted.epoch, end=parted.end + 1)

    return [Replacement(rules, "truncation_point", truncation_point)]


def truncate_in_memory(notes: Notes) -> list[Replacement]:
    """What a broker cuts from its log in memory stays on its disk, and is back after a restart."""
    handle = Broker.handle

    def on_disk(effect: Effect) -> Effect:
        if not isinstance(effect, Truncate):
            return effect
        notes.note(kept_from=effect.start)
        return msgspec.structs.replace(effect, start=sys.maxsize)

    def handle_without_cuts(broker: Broker, event: Event, now_ms: int) -> list[Effect]:
        return [on_disk(effect) for effect in handle(broker, event, now_ms)]

    return [Replacement(Broker, "handle", notes.enter(handle_without_cuts))]


# ---------------------------------------------------------------- recovery


def recover_to_checkpoint(notes: Notes) -> list[Replacement]:
    """A broker that starts cuts its log at its last checkpoint, one every 64 records, though all behind it is whole."""
    start = Broker.start

    def start_at_checkpoint(broker: Broker, now_ms: int) -> list[Effect]:
        notes.core = broker
        replica = broker.replica
        checkpoint = replica.log.end - replica.log.end % CHECKPOINT_RECORDS
        if checkpoint < replica.log.end:
            notes.note(replica.log.at(replica.log.end - 1), kept_to=checkpoint)
            replica.truncate(checkpoint)
        return start(broker, now_ms)

    return [Replacement(Broker, "start", start_at_checkpoint)]


BENDS: Final[Mapping[str, Bend]] = {
    "shrink-before-agreed": shrink_before_agreed,
    "truncate-off-by-one": truncate_off_by_one,
    "truncate-in-memory": truncate_in_memory,
    "recover-to-checkpoint": recover_to_checkpoint,
}
