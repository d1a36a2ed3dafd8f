"""A broker as master of one epoch: it appends, counts who holds what, confirms, acknowledges, and feeds followers.

It changes the SyncStateSet only by asking: until the controllers agree it counts every member of the old set and of all
sets asked for. Cut off, it therefore stalls, and its clients hear at the deadline that nobody knows. It does not decide
of itself that it is master, and ends at once when it hears of a later epoch.
"""

from typing import Final

import msgspec

from cluster.systems.minimq.protocol.broker_messages import (
    Commit,
    CommitDone,
    Committed,
    Divergence,
    Fetch,
    FetchAnswer,
    GetOffsets,
    Held,
    Offsets,
    Produce,
    Produced,
    Read,
    Record,
    StrongRead,
)
from cluster.systems.minimq.protocol.messages import AlterSyncStateSet, Group, Indefinite
from cluster.systems.minimq.replication import broker_rules
from cluster.systems.minimq.replication.replica_state import (
    BODY_BYTES_MAX,
    FETCH_BYTES_MAX,
    FETCH_RECORDS_MAX,
    WAITING_MAX,
    ClientError,
    Replica,
)
from cluster.systems.minimq.replication.waits import Acknowledgements, Strong, Waiting
from cluster.systems.minimq.storage.commit_log import LEAST_OFFSET, QueueKey, commit_record, data_record

RESEND_MS: Final = 300
CONFIRMED_NEWS_MS: Final = 20
"""How long a follower may wait to hear what is confirmed: mostly it comes with the next records, and costs nothing."""


class _FollowerView:
    """What the master knows of one follower in this epoch.

    A probe is an end that the master's log had at ``probe_ms``. It is renewed only when it was reached: under a steady
    load a follower is always some messages behind the newest end, and yet in time.
    """

    def __init__(self, log_end: int, now_ms: int) -> None:
        self.held = 0
        self.round = 0
        self.agrees = False
        self.caught_up_ms = now_ms
        self.parked: Fetch | None = None
        self.parked_ms = 0
        self._probe_end = log_end
        self._probe_ms = now_ms

    def hear(self, held: int, round_: int, log_end: int, now_ms: int) -> None:
        """Note a message of this epoch from a follower whose log agrees."""
        self.agrees = True
        self.held = max(self.held, held)
        self.round = max(self.round, round_)
        if self.held >= self._probe_end:
            self.caught_up_ms = now_ms if self.held >= log_end else max(self.caught_up_ms, self._probe_ms)
            self._probe_end, self._probe_ms = log_end, now_ms


class Master:
    """The replica as master in one epoch."""

    def __init__(self, replica: Replica, group: Group) -> None:
        self._replica = replica
        replica.truncate(broker_rules.kept_at_takeover(replica.log.end))
        self._takeover_end = replica.log.end
        self._followers: dict[str, _FollowerView] = {}
        self._proposed: frozenset[str] = frozenset()
        self._asked_ms: int | None = None
        self._round = 0
        self._acknowledgements = Acknowledgements()
        self._strong: Waiting[Strong] = Waiting()
        self._group = group
        self.on_group(group)

    # ------------------------------------------------------------ the SyncStateSet

    def on_group(self, group: Group) -> None:
        """Newer metadata of this epoch."""
        if group.sss_epoch != self._group.sss_epoch:
            self._proposed, self._asked_ms = frozenset(), None
        self._group = group
        for broker in group.brokers:
            if broker.broker != self._replica.name and broker.broker not in self._followers:
                self._followers[broker.broker] = _FollowerView(self._replica.log.end, self._replica.now_ms)

    @property
    def _counted(self) -> frozenset[str]:
        return broker_rules.counted_members(self._group.sync_state_set, self._proposed)

    def _wanted(self) -> frozenset[str]:
        """The set this master would have: those in time, and of the others those that hold all there may be."""
        replica, agreed = self._replica, self._group.sync_state_set
        now_ms, lag_max_ms, confirmed = replica.now_ms, replica.settings.lag_max_ms, replica.confirmed
        wanted = {replica.name}
        for name, view in self._followers.items():
            in_time = broker_rules.is_in_time(view.caught_up_ms, now_ms, lag_max_ms)
            joins = view.agrees and broker_rules.has_caught_up(view.held, confirmed, self._takeover_end)
            if in_time and (name in agreed or joins):
                wanted.add(name)
        return frozenset(wanted)

    def wanted_change(self) -> AlterSyncStateSet | None:
        """What to ask of the controllers now. An unchanged set is asked for to make an earlier request void."""
        replica, agreed = self._replica, frozenset(self._group.sync_state_set)
        wanted = self._wanted()
        if wanted == agreed and self._proposed <= agreed:
            return None
        if self._asked_ms is not None and replica.now_ms - self._asked_ms < RESEND_MS and wanted <= self._counted:
            return None
        self._asked_ms = replica.now_ms
        self._proposed |= wanted
        return AlterSyncStateSet(
            master=replica.name, epoch=replica.epoch, new_set=tuple(sorted(wanted)), sss_epoch=self._group.sss_epoch
        )

    # ------------------------------------------------------------ clients

    def produce(self, request_id: str, body: Produce) -> None:
        """Append a message, or find that it was appended before.

        Raises:
            ClientError: refused before anything was done.
        """
        replica, key = self._replica, QueueKey(body.topic, body.queue)
        self._admit()
        if len(body.body) > BODY_BYTES_MAX:
            raise ClientError("too-large")
        if body.sequence >= 0:
            if not body.producer:
                raise ClientError("bad-request")
            before = replica.log.sequences(body.producer, key)
            verdict = broker_rules.judge_sequence(len(before), body.sequence)
            if verdict == "gap":
                raise ClientError("out-of-sequence")
            if verdict == "repeat":
                index = before[body.sequence]
                record = replica.log.at(index)
                answer = Produced(offset=record.offset, epoch=record.epoch, repeated=True)
                self._await(broker_rules.repeat_waits_for(index), request_id, answer)
                return
        offset = broker_rules.next_offset(replica.log.queue_length(key))
        record = data_record(replica.epoch, key, offset, body.body, body.producer, body.sequence)
        self._await(replica.append(record), request_id, Produced(offset=offset, epoch=replica.epoch))

    def commit(self, request_id: str, body: Commit) -> None:
        """Append a group's offset.

        Raises:
            ClientError: refused before anything was done.
        """
        self._admit()
        if body.offset < LEAST_OFFSET or not body.group:
            raise ClientError("bad-request")
        replica = self._replica
        record = commit_record(replica.epoch, QueueKey(body.topic, body.queue), body.group, body.offset)
        self._await(replica.append(record), request_id, CommitDone(epoch=replica.epoch))

    def _admit(self) -> None:
        if not broker_rules.enough_in_sync(self._group.sync_state_set, self._replica.settings.min_in_sync):
            raise ClientError("too-few-in-sync")
        if len(self._acknowledgements) >= WAITING_MAX:
            raise ClientError("busy")

    def _await(self, index: int, request_id: str, answer: msgspec.Struct) -> None:
        self._acknowledgements.add(index, request_id, self._deadline_ms(), answer)

    def _deadline_ms(self) -> int:
        return self._replica.now_ms + self._replica.settings.request_timeout_ms

    def strong_read(self, request_id: str, body: StrongRead) -> None:
        """Answer once it is shown that nothing acknowledged before now is missing.

        Raises:
            ClientError: refused.
        """
        if len(self._strong) >= WAITING_MAX:
            raise ClientError("busy")
        self._round += 1
        self._strong.add(Strong(request_id, self._deadline_ms(), self._round, body))

    def _may_answer(self, wait: Strong) -> bool:
        rounds = {name: view.round for name, view in self._followers.items()}
        others = self._counted - {self._replica.name}
        return broker_rules.may_answer_strongly(self._replica.confirmed, self._takeover_end, rounds, others, wait.round)

    def _answer_strong(self, body: StrongRead) -> msgspec.Struct:
        replica, key = self._replica, QueueKey(body.topic, body.queue)
        if isinstance(body, Read):
            return replica.polled(key, body.offset, body.records_max)
        if isinstance(body, GetOffsets):
            end = replica.log.queue_end(key, replica.readable_end)
            return Offsets(least=LEAST_OFFSET, end=end, epoch=replica.epoch)
        last = replica.log.last_commit(body.group, key, replica.readable_end)
        return Committed(offset=broker_rules.group_goes_on_at(last), epoch=replica.epoch)

    # ------------------------------------------------------------ followers

    def on_fetch(self, sender: str, body: Fetch) -> None:
        """Say where the logs part, or note what the follower holds and keep the fetch until there is something."""
        replica = self._replica
        view = self._followers.get(sender)
        if view is None or not broker_rules.obeys(body.epoch, replica.epoch):
            return
        log = replica.log
        divergence = broker_rules.truncation_point(log.epochs, log.end, body.last_epoch, body.end)
        if divergence is not None:
            replica.send(sender, self._answer(body, (), divergence))
            return
        view.hear(body.held, body.round, log.end, replica.now_ms)
        view.parked, view.parked_ms = body, replica.now_ms

    def on_held(self, sender: str, body: Held) -> None:
        """Note what the follower holds."""
        view = self._followers.get(sender)
        if view is not None and broker_rules.obeys(body.epoch, self._replica.epoch):
            view.hear(body.held, body.round, self._replica.log.end, self._replica.now_ms)

    def _answer(self, fetch: Fetch, records: tuple[Record, ...], divergence: Divergence | None = None) -> FetchAnswer:
        return FetchAnswer(
            epoch=self._replica.epoch,
            end=fetch.end,
            last_epoch=fetch.last_epoch,
            confirmed=self._replica.confirmed,
            round=self._round,
            records=records,
            divergence=divergence,
        )

    def _answer_fetches(self) -> None:
        replica = self._replica
        for name, view in self._followers.items():
            fetch = view.parked
            if fetch is None:
                continue
            unconfirmed = fetch.confirmed < replica.confirmed and fetch.confirmed < fetch.end
            patience_ms = CONFIRMED_NEWS_MS if unconfirmed else replica.settings.fetch_park_ms
            news = fetch.end < replica.log.end or fetch.round < self._round
            if news or replica.now_ms - view.parked_ms >= patience_ms:
                view.parked = None
                records = replica.log.slice(fetch.end, FETCH_RECORDS_MAX, FETCH_BYTES_MAX)
                replica.send(name, self._answer(fetch, records))

    # ------------------------------------------------------------ what follows from every event

    def settle(self) -> None:
        """Confirm, acknowledge and feed as far as what is known now allows."""
        replica = self._replica
        held = {name: view.held for name, view in self._followers.items()}
        held[replica.name] = replica.held
        if broker_rules.enough_in_sync(self._group.sync_state_set, replica.settings.min_in_sync):
            replica.confirm(broker_rules.confirmed_by(held, self._counted, replica.confirmed))
        for wait in self._acknowledgements.take(self._may_acknowledge):
            replica.reply(wait.request_id, wait.answer)
        if self._strong.waits:
            for strong in self._strong.take(self._may_answer):
                replica.reply(strong.request_id, self._answer_strong(strong.body))
        self._answer_fetches()

    def _may_acknowledge(self, index: int) -> bool:
        replica = self._replica
        return broker_rules.may_acknowledge(
            index, replica.confirmed, replica.held, sync_replication=replica.settings.sync_replication
        )

    def expire(self) -> None:
        """Tell those whose deadline has passed that nobody knows."""
        now_ms = self._replica.now_ms
        strong = [wait.request_id for wait in self._strong.expire(now_ms)]
        for request_id in self._acknowledgements.expire(now_ms) + strong:
            self._replica.reply(request_id, Indefinite(reason="deadline"))

    def step_down(self) -> None:
        """Another epoch has begun: what waits may or may not survive it."""
        strong = [wait.request_id for wait in self._strong.clear()]
        for request_id in self._acknowledgements.clear() + strong:
            self._replica.reply(request_id, Indefinite(reason="stepped-down"))
