"""How a broker's rules are bent: for each bug the functions that stand in for the honest ones.

Each function here gives the replacements of one bug; all else of the broker stays as it is. A bent rule notes what it
did wherever the honest one would have decided otherwise. Does not put anything in place: ``bugs`` does.
"""

import struct
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.consensus import metadata
from cluster.systems.minimq.protocol.broker_messages import DATA, BrokerRequest, Divergence, Poll, Polled, Read, Record
from cluster.systems.minimq.protocol.io import Effect
from cluster.systems.minimq.protocol.messages import AlterSyncStateSet, Group, RefusedReason
from cluster.systems.minimq.replication import broker_rules as rules
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.replication.master import Master
from cluster.systems.minimq.replication.replica_state import Replica
from cluster.systems.minimq.storage import disk
from cluster.systems.minimq.storage.commit_log import QueueKey, commit_record
from cluster.systems.minimq.storage.segments import SegmentedLog

LARGE_BATCH: Final = 256
"""Records; a follower that keeps up is sent fewer at once, one that catches up more."""
FLUSH_EVERY_S: Final = 0.25
CHECKPOINT_MS: Final = 250
SILENCE_MS: Final = 1000
GOES_ON_MS: Final = 3000
FORGED_AHEAD: Final = 1_000_000
"""So many messages later a sender would come to the number of the message that is made up."""

_BODY: Final = struct.Struct(">4sIQiIQ")  # as in chaos.models.log.payload, which a node does not have
_BODY_MAGIC: Final = b"CHS1"


class Replacement(NamedTuple):
    """``function`` for the attribute ``name`` of ``owner``, a module or a class."""

    owner: object
    name: str
    function: Callable[..., Any]


Bend = Callable[[Notes], list[Replacement]]


def after_failover(notes: Notes) -> bool:
    """Whether the log of the broker that decides began under an earlier master than the present one."""
    epochs = notes.log.epochs
    return bool(epochs) and epochs[0][0] < notes.broker.epoch


def _last_of(notes: Notes, key: QueueKey) -> Record | None:
    """The last record of a queue."""
    last = notes.log.read(key, notes.log.queue_length(key) - 1, notes.log.end, 1, 1)
    return last[0] if last else None


# ---------------------------------------------------------------- acknowledging


def ack_before_replicate(notes: Notes) -> list[Replacement]:
    """What the master holds is acknowledged, whatever the others hold."""
    honest = rules.may_acknowledge

    def may_acknowledge(index: int, confirmed: int, own_held: int, *, sync_replication: bool) -> bool:
        if index < own_held and not honest(index, confirmed, own_held, sync_replication=sync_replication):
            notes.note(notes.log.at(index))
        return index < own_held

    return [Replacement(rules, "may_acknowledge", may_acknowledge)]


def ack_before_fsync(notes: Notes) -> list[Replacement]:
    """What is in memory counts as held, and the disk is given it four times a second."""
    keep = disk.BrokerStore.keep

    def held_end(log_end: int, durable_end: int, *, sync_flush: bool) -> int:
        if sync_flush and durable_end < log_end:
            notes.note(notes.log.at(log_end - 1))
        return log_end

    def keep_later(store: disk.BrokerStore, effects: Sequence[disk.Kept]) -> None:
        time.sleep(FLUSH_EVERY_S)
        keep(store, effects)

    return [Replacement(rules, "held_end", held_end), Replacement(disk.BrokerStore, "keep", keep_later)]


def never_fsync(notes: Notes) -> list[Replacement]:
    """What the kernel was given counts as durable, and no sync is ever asked for; a kill loses none of it."""

    def held_end(log_end: int, durable_end: int, *, sync_flush: bool) -> int:
        if sync_flush and durable_end:
            notes.note(notes.log.at(durable_end - 1))
        return durable_end if sync_flush else log_end

    def sync(_log: SegmentedLog) -> None:
        return

    return [Replacement(rules, "held_end", held_end), Replacement(SegmentedLog, "sync", sync)]


def minisr_ignored(notes: Notes) -> list[Replacement]:
    """Any SyncStateSet is large enough."""
    honest = rules.enough_in_sync

    def enough_in_sync(agreed: Collection[str], minimum: int) -> bool:
        if not honest(agreed, minimum):
            notes.note(sync_state_set=sorted(agreed))
        return True

    return [Replacement(rules, "enough_in_sync", enough_in_sync)]


# ---------------------------------------------------------------- epochs


def no_truncate_on_rejoin(notes: Notes) -> list[Replacement]:
    """The master takes every follower's log for a prefix of its own."""
    honest = rules.truncation_point

    def truncation_point(epochs: rules.Epochs, end: int, follower_epoch: int, follower_end: int) -> Divergence | None:
        parted = honest(epochs, end, follower_epoch, follower_end)
        if parted is not None:
            notes.note(kept_from=parted.end, kept_to=follower_end)
        return None

    return [Replacement(rules, "truncation_point", truncation_point)]


def truncate_acked(notes: Notes) -> list[Replacement]:
    """A new master cuts its log where it last wrote down that it was confirmed, four times a second."""
    confirm = Replica.confirm
    written: WeakKeyDictionary[Replica, tuple[int, int]] = WeakKeyDictionary()

    def confirm_and_write(replica: Replica, position: int) -> None:
        confirm(replica, position)
        if replica.now_ms - written.get(replica, (0, 0))[0] >= CHECKPOINT_MS:
            written[replica] = replica.now_ms, replica.confirmed

    def kept_at_takeover(log_end: int) -> int:
        _, confirmed = written.get(notes.broker.replica, (0, log_end))
        if confirmed < log_end:
            notes.note(notes.log.at(confirmed), records=log_end - confirmed)
        return confirmed

    return [
        Replacement(Replica, "confirm", confirm_and_write),
        Replacement(rules, "kept_at_takeover", kept_at_takeover),
    ]


def stale_epoch_accept(notes: Notes) -> list[Replacement]:
    """A master goes on for a while though a later epoch has begun, and the controllers take its SyncStateSet."""
    deposes, is_other_place, may_alter = rules.deposes, rules.is_other_place, metadata.may_alter
    first_heard_ms: WeakKeyDictionary[Replica, dict[int, int]] = WeakKeyDictionary()

    def goes_on() -> bool:
        replica = notes.broker.replica
        heard_ms = first_heard_ms.setdefault(replica, {}).setdefault(replica.epoch, replica.now_ms)
        return notes.broker.role == "master" and replica.now_ms - heard_ms < GOES_ON_MS

    def deposes_late(heard_epoch: int, own_epoch: int) -> bool:
        return deposes(heard_epoch, own_epoch) and not goes_on()

    def is_other_place_late(told: tuple[int, str | None], known: tuple[int, str | None]) -> bool:
        if told[0] <= known[0] or not goes_on():
            return is_other_place(told, known)
        notes.note(later_epoch=told[0], later_master=told[1])
        return False

    def may_alter_late(group: Group, request: AlterSyncStateSet) -> RefusedReason | None:
        refused = may_alter(group, request)
        if refused in ("not-master", "stale-epoch") and request.epoch < group.epoch:
            notes.note(master=request.master, master_epoch=request.epoch, sync_state_set=request.new_set)
            return None
        return refused

    return [
        Replacement(rules, "deposes", deposes_late),
        Replacement(rules, "is_other_place", is_other_place_late),
        Replacement(metadata, "may_alter", may_alter_late),
    ]


# ---------------------------------------------------------------- appending


def duplicate_on_retry(notes: Notes) -> list[Replacement]:
    """A message that comes again is appended again."""

    def judge_sequence(expected: int, sequence: int) -> Literal["append", "repeat", "gap"]:
        produce = notes.produce
        key = QueueKey(produce.topic, produce.queue)
        taken = [notes.log.at(position).sequence for position in notes.log.sequences(produce.producer, key)]
        assert len(taken) == expected, "the rule is asked about the message that is being produced"
        if sequence in taken:
            notes.note(
                topic=key.topic,
                queue=key.queue,
                offset=notes.log.queue_length(key),
                producer=produce.producer,
                sequence=sequence,
            )
        return "gap" if sequence > max(taken, default=-1) + 1 else "append"

    return [
        Replacement(Master, "produce", notes.enter(Master.produce)),
        Replacement(rules, "judge_sequence", judge_sequence),
    ]


def offset_reuseafter_failover(notes: Notes) -> list[Replacement]:
    """A new master gives the last offset of each queue a second time."""

    def next_offset(queue_length: int) -> int:
        last = _last_of(notes, QueueKey(notes.produce.topic, notes.produce.queue))
        if last is None or last.epoch == notes.broker.epoch:
            return queue_length
        notes.note(last)
        return queue_length - 1

    return [Replacement(Master, "produce", notes.enter(Master.produce)), Replacement(rules, "next_offset", next_offset)]


def offset_gap(notes: Notes) -> list[Replacement]:
    """A follower that catches up takes the message in the middle of a large batch for a commit of no group."""

    def batch_to_append(records: tuple[Record, ...]) -> tuple[Record, ...]:
        middle = len(records) // 2
        if len(records) < LARGE_BATCH or records[middle].kind != DATA:
            return records
        notes.note(records[middle])
        taken = commit_record(records[middle].epoch, QueueKey(records[middle].topic, records[middle].queue), "", 0)
        return (*records[:middle], taken, *records[middle + 1 :])

    return [Replacement(rules, "batch_to_append", batch_to_append)]


def reorder_batch(notes: Notes) -> list[Replacement]:
    """A follower that catches up appends each queue's records of a large batch in reverse."""

    def batch_to_append(records: tuple[Record, ...]) -> tuple[Record, ...]:
        if len(records) < LARGE_BATCH:
            return records
        places: dict[tuple[int, int, str, int], list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            places[record.epoch, record.kind, record.topic, record.queue].append(place)
        turned = list(records)
        for same in places.values():
            for place, other in zip(same, reversed(same), strict=True):
                turned[place] = records[other]
        notes.note(turned[0], records=len(records))
        return tuple(turned)

    return [Replacement(rules, "batch_to_append", batch_to_append)]


def corrupt_body(notes: Notes) -> list[Replacement]:
    """A follower that catches up stores the body in the middle of a large batch with one bit turned, and its CRC."""

    def batch_to_append(records: tuple[Record, ...]) -> tuple[Record, ...]:
        middle = len(records) // 2
        if len(records) < LARGE_BATCH or not records[middle].body:
            return records
        body = bytearray(records[middle].body)
        body[len(body) // 2] ^= 1
        damaged = msgspec.structs.replace(records[middle], body=bytes(body), crc=zlib.crc32(body))
        notes.note(damaged)
        return (*records[:middle], damaged, *records[middle + 1 :])

    return [Replacement(rules, "batch_to_append", batch_to_append)]


def forged(body: bytes) -> bytes | None:
    """A body that its sender may send much later, with the checksum of the harness' messages; None for other bodies."""
    if len(body) < _BODY.size or body[:4] != _BODY_MAGIC:
        return None
    magic, _, run, queue, writer, sequence = _BODY.unpack_from(body)
    made = bytearray(_BODY.pack(magic, 0, run, queue, writer, sequence + FORGED_AHEAD) + body[_BODY.size :])
    made[4:8] = zlib.crc32(memoryview(made)[8:]).to_bytes(4, "big")
    return bytes(made)


def phantom_after_restart(notes: Notes) -> list[Replacement]:
    """A broker that starts finds behind its last message one that nobody sent."""
    start = Broker.start

    def start_with_one_more(broker: Broker, now_ms: int) -> list[Effect]:
        notes.core = broker
        log = broker.replica.log
        last = log.at(log.end - 1) if log.end else None
        body = forged(last.body) if last is not None else None
        if last is not None and body is not None:
            offset = log.queue_length(QueueKey(last.topic, last.queue))
            phantom = msgspec.structs.replace(last, offset=offset, sequence=-1, body=body, crc=zlib.crc32(body))
            broker.replica.append(phantom)
            notes.note(phantom)
        return start(broker, now_ms)

    return [Replacement(Broker, "start", start_with_one_more)]


# ---------------------------------------------------------------- serving


def read_uncommitted(notes: Notes) -> list[Replacement]:
    """Readers see what is not confirmed."""
    polled = Replica.polled

    def readable_end(confirmed: int, log_end: int) -> int:  # noqa: ARG001 - that it is not used is the bug
        return log_end

    def polled_and_noted(replica: Replica, key: QueueKey, offset: int, records_max: int) -> Polled:
        answer = polled(replica, key, offset, records_max)
        end = replica.log.queue_end(key, replica.confirmed)
        for record in answer.records[max(0, end - offset) :]:
            notes.note(record)
        return answer

    return [Replacement(rules, "readable_end", readable_end), Replacement(Replica, "polled", polled_and_noted)]


def stale_read_slave(notes: Notes) -> list[Replacement]:
    """A follower that has not heard from its master for a while answers strong reads as if they were weak."""
    honest, confirm = rules.weak_read, Replica.confirm
    heard: WeakKeyDictionary[Replica, int] = WeakKeyDictionary()

    def confirm_and_hear(replica: Replica, position: int) -> None:
        confirm(replica, position)
        heard[replica] = replica.now_ms

    def weak_read(body: BrokerRequest) -> Poll | None:
        replica = notes.broker.replica
        silent_ms = replica.now_ms - heard.get(replica, replica.now_ms)
        if not isinstance(body, Read) or notes.broker.role != "follower" or silent_ms < SILENCE_MS:
            return honest(body)
        notes.note(topic=body.topic, queue=body.queue, offset=body.offset)
        return Poll(topic=body.topic, queue=body.queue, offset=body.offset, records_max=body.records_max)

    return [Replacement(Replica, "confirm", confirm_and_hear), Replacement(rules, "weak_read", weak_read)]


def lost_consumer_offset(notes: Notes) -> list[Replacement]:
    """A master knows no group's offset that was committed under an earlier one."""
    honest = rules.group_goes_on_at

    def group_goes_on_at(last: Record | None) -> int | None:
        if last is None or last.epoch == notes.broker.epoch:
            return honest(last)
        notes.note(last, group=last.writer)
        return None

    return [Replacement(rules, "group_goes_on_at", group_goes_on_at)]


def skip_on_long_poll(notes: Notes) -> list[Replacement]:
    """After a failover a poll that has to wait passes over the first record that comes."""
    honest = rules.awaited_offset

    def awaited_offset(requested_offset: int) -> int:
        if not after_failover(notes):
            return honest(requested_offset)
        notes.note(offset=requested_offset)
        return requested_offset + 1

    return [Replacement(rules, "awaited_offset", awaited_offset)]


BENDS: Final[Mapping[str, Bend]] = {
    "ack-before-replicate": ack_before_replicate,
    "ack-before-fsync": ack_before_fsync,
    "never-fsync": never_fsync,
    "minisr-ignored": minisr_ignored,
    "no-truncate-on-rejoin": no_truncate_on_rejoin,
    "truncate-acked": truncate_acked,
    "stale-epoch-accept": stale_epoch_accept,
    "duplicate-on-retry": duplicate_on_retry,
    "offset-reuse-after-failover": offset_reuseafter_failover,
    "offset-gap": offset_gap,
    "reorder-batch": reorder_batch,
    "corrupt-body": corrupt_body,
    "phantom-after-restart": phantom_after_restart,
    "read-uncommitted": read_uncommitted,
    "stale-read-slave": stale_read_slave,
    "lost-consumer-offset": lost_consumer_offset,
    "skip-on-long-poll": skip_on_long_poll,
}
