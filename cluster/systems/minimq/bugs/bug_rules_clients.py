"""How the rules of leases, idempotence and committed offsets are bent: as ``bug_rules``, for these bugs of brokers."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal
from weakref import WeakKeyDictionary

from cluster.systems.minimq.bugs.bug_rules import Bend, Replacement
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.protocol.broker_messages import COMMIT, Committed, FetchCommitted, StrongRead
from cluster.systems.minimq.replication import broker_rules as rules
from cluster.systems.minimq.replication.master import Master
from cluster.systems.minimq.replication.replica_state import Replica
from cluster.systems.minimq.storage.commit_log import CommitLog, Owned, QueueKey

LONG_LEASE_MS: Final = 5000
"""Longer than it takes until the controllers elect another master."""
LEASE_MS: Final = 1000
"""Shorter than that, as long as a clock goes on evenly."""


# ---------------------------------------------------------------- leases


def _lease(notes: Notes, lasts_ms: int, clock_ms: Callable[[Replica], float]) -> list[Replacement]:
    """A master whose followers agreed not longer than ``lasts_ms`` ago by this clock answers strong reads alone."""
    honest = rules.may_answer_strongly
    leases: WeakKeyDictionary[Replica, tuple[int, float]] = WeakKeyDictionary()

    def may_answer_strongly(
        confirmed: int, takeover_end: int, rounds: Mapping[str, int], others: Collection[str], asked_round: int
    ) -> bool:
        replica = notes.broker.replica
        if honest(confirmed, takeover_end, rounds, others, asked_round):
            leases[replica] = replica.epoch, clock_ms(replica) + lasts_ms
            return True
        epoch, until_ms = leases.get(replica, (0, 0.0))
        left_ms = until_ms - clock_ms(replica)
        if epoch != replica.epoch or left_ms <= 0:
            return False
        notes.note(lease_left_ms=round(left_ms))
        return True

    return [Replacement(rules, "may_answer_strongly", may_answer_strongly)]


def lease_too_long(notes: Notes) -> list[Replacement]:
    """A lease that goes on when another master may have been elected."""
    return _lease(notes, LONG_LEASE_MS, lambda replica: replica.now_ms)


def lease_by_wall_clock(notes: Notes) -> list[Replacement]:
    """A lease that is short enough, but by a clock that may be set back."""
    return _lease(notes, LEASE_MS, lambda _: notes.wall_ns() / 1e6)


# ---------------------------------------------------------------- idempotence


def forget_producers(notes: Notes) -> list[Replacement]:
    """A new master has forgotten which numbers earlier masters took from a producer."""
    sequences = CommitLog.sequences

    def sequences_once(log: CommitLog, producer: str, key: QueueKey) -> list[int]:
        """Of a number that was taken twice the later position."""
        taken = {log.at(position).sequence: position for position in sequences(log, producer, key)}
        return [taken[number] for number in sorted(taken)]

    def judge_sequence(expected: int, sequence: int) -> Literal["append", "repeat", "gap"]:
        produce, key = notes.produce, QueueKey(notes.produce.topic, notes.produce.queue)
        before = [notes.log.at(position) for position in sequences_once(notes.log, produce.producer, key)]
        own = [record.sequence for record in before if record.epoch == notes.broker.epoch]
        if own:
            return honest(max(own) + 1, sequence)
        if honest(expected, sequence) == "repeat":
            notes.note(topic=key.topic, queue=key.queue, offset=notes.log.queue_length(key), producer=produce.producer)
        return "append"

    honest = rules.judge_sequence
    return [
        Replacement(Master, "produce", notes.enter(Master.produce)),
        Replacement(CommitLog, "sequences", sequences_once),
        Replacement(rules, "judge_sequence", judge_sequence),
    ]


def count_cut_sequences(notes: Notes) -> list[Replacement]:
    """What a broker cuts from its log still counts when it judges the next number of a producer."""
    truncate, sequences = CommitLog.truncate, CommitLog.sequences
    cut: WeakKeyDictionary[CommitLog, dict[Owned, int]] = WeakKeyDictionary()

    def truncate_and_count(log: CommitLog, start: int) -> None:
        for record in (log.at(position) for position in range(start, log.end)):
            if record.kind != COMMIT and record.sequence >= 0:
                owned = Owned(record.writer, QueueKey(record.topic, record.queue))
                counts = cut.setdefault(log, {})
                counts[owned] = counts.get(owned, 0) + 1
                notes.note(record, producer=record.writer)
        truncate(log, start)

    def sequences_and_cut(log: CommitLog, producer: str, key: QueueKey) -> list[int]:
        held = sequences(log, producer, key)
        return held + (held[-1:] or [0]) * cut.get(log, {}).get(Owned(producer, key), 0)

    return [
        Replacement(CommitLog, "truncate", truncate_and_count),
        Replacement(CommitLog, "sequences", sequences_and_cut),
    ]


def ack_repeat_at_once(notes: Notes) -> list[Replacement]:
    """A message that comes again is acknowledged at once, though the first of it is not confirmed yet."""

    def repeat_waits_for(position: int) -> int:
        if position >= notes.broker.replica.confirmed:
            notes.note(notes.log.at(position))
        return -1

    return [Replacement(rules, "repeat_waits_for", repeat_waits_for)]


# ---------------------------------------------------------------- committed offsets


def stale_committed_offset(notes: Notes) -> list[Replacement]:
    """A master answers where a group goes on from its own log, without proof that no later master has begun."""
    strong_read = Master.strong_read

    def strong_read_or_not(master: Master, request_id: str, body: StrongRead) -> None:
        if not isinstance(body, FetchCommitted):
            strong_read(master, request_id, body)
            return
        replica = notes.broker.replica
        last = replica.log.last_commit(body.group, QueueKey(body.topic, body.queue), replica.readable_end)
        notes.note(last, group=body.group)
        replica.reply(request_id, Committed(offset=rules.group_goes_on_at(last), epoch=replica.epoch))

    return [Replacement(Master, "strong_read", strong_read_or_not)]


BENDS: Final[Mapping[str, Bend]] = {
    "lease-too-long": lease_too_long,
    "lease-by-wall-clock": lease_by_wall_clock,
    "forget-producers": forget_producers,
    "count-cut-sequences": count_cut_sequences,
    "ack-repeat-at-once": ack_repeat_at_once,
    "stale-committed-offset": stale_committed_offset,
}
