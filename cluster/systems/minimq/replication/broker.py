"""The broker's core: one replica of the log, as master or follower, told by the controllers which.

It believes only metadata that names its present life (its ``incarnation``), newest version first, so nothing said to an
earlier life or overtaken on the way can make it serve an epoch that is over. A later epoch heard from another broker
ends its role at once; who is master then, only the controllers say. Clients are refused (definite) or told that nobody
knows (indefinite), never left without an answer. The core does not use clocks, sockets and files: see ``io`` for what
enters and leaves, ``broker_rules`` for what its promises rest on.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from cluster.systems.minimq.protocol import groups
from cluster.systems.minimq.protocol.broker_messages import (
    BrokerRequest,
    Commit,
    Fetch,
    FetchAnswer,
    FetchCommitted,
    GetOffsets,
    GetReplica,
    Held,
    Poll,
    Produce,
    Read,
    Record,
    Rejected,
    ReplicaStatus,
)
from cluster.systems.minimq.protocol.io import ClientRequest, Effect, Event, Message, Written
from cluster.systems.minimq.protocol.messages import (
    AlterSyncStateSet,
    Answer,
    GetMetadata,
    Heartbeat,
    Metadata,
    MetadataPush,
    RegisterBroker,
)
from cluster.systems.minimq.replication import broker_rules
from cluster.systems.minimq.replication.controller_link import ControllerLink
from cluster.systems.minimq.replication.follower import FETCH, Follower
from cluster.systems.minimq.replication.master import Master
from cluster.systems.minimq.replication.replica_state import WAITING_MAX, BrokerSettings, ClientError, Replica
from cluster.systems.minimq.replication.waits import Parked, Waiting
from cluster.systems.minimq.storage.commit_log import LEAST_OFFSET, QueueKey

HEARTBEAT: Final = "heartbeat"
TICK: Final = "tick"
READS: Final = (Poll, Read)


class Broker:
    """One broker of a group in one life. ``records``: what its store kept; ``incarnation`` is new at each start."""

    def __init__(
        self,
        name: str,
        controllers: Sequence[str],
        incarnation: str,
        settings: BrokerSettings | None = None,
        records: Iterable[Record] = (),
        group: str = groups.ONE,
    ) -> None:
        self.name = name
        self.group = group
        self.replica = Replica(name, settings or BrokerSettings(), records)
        self._incarnation = incarnation
        self._link = ControllerLink(controllers)
        self._metadata: Metadata | None = None
        self._place: Master | Follower | None = None
        self._polls: Waiting[Parked] = Waiting()
        self._polls_seen = 0

    @property
    def role(self) -> Literal["master", "follower", "none"]:
        """What this broker believes to be."""
        match self._place:
            case Master():
                return "master"
            case Follower():
                return "follower"
            case None:
                return "none"

    @property
    def epoch(self) -> int:
        """The newest epoch that this life has heard of."""
        return self.replica.epoch

    @property
    def sync_state_set(self) -> tuple[str, ...]:
        """The SyncStateSet as this life last heard of it."""
        return self._metadata.group.sync_state_set if self._metadata is not None else ()

    def start(self, now_ms: int) -> list[Effect]:
        """Register, and begin to count time."""
        self.replica.now_ms = now_ms
        self._heartbeat()
        self.replica.set_timer(TICK, self.replica.settings.tick_ms)
        return self.replica.take()

    def handle(self, event: Event, now_ms: int) -> list[Effect]:
        """The effects of one event."""
        self.replica.now_ms = now_ms
        if isinstance(event, Message):
            self._on_message(event.sender, event.body)
        elif isinstance(event, Written):
            self.replica.on_written(event.token)
            if isinstance(self._place, Follower):
                self._place.tell_held()
        elif isinstance(event, ClientRequest):
            self._on_request(event.id, event.body)
        else:
            self._on_timer(event.name)
        self._settle()
        return self.replica.take()

    # ------------------------------------------------------------ time

    def _on_timer(self, name: str) -> None:
        settings = self.replica.settings
        if name == HEARTBEAT:
            self._link.look()
            self._heartbeat()
        elif name == TICK:
            if isinstance(self._place, Master):
                self._place.expire()
            for parked in self._polls.expire(self.replica.now_ms):
                self._answer_poll(parked)
            self.replica.set_timer(TICK, settings.tick_ms)
        elif name == FETCH and isinstance(self._place, Follower):
            self._place.fetch()

    def _heartbeat(self) -> None:
        replica = self.replica
        if self._metadata is None:
            self._ask(RegisterBroker(broker=self.name, incarnation=self._incarnation))
        else:
            self._ask(
                Heartbeat(broker=self.name, incarnation=self._incarnation, epoch=replica.epoch, log_end=replica.log.end)
            )
        replica.set_timer(HEARTBEAT, replica.settings.heartbeat_ms)

    def _ask(self, request: RegisterBroker | Heartbeat | AlterSyncStateSet | GetMetadata) -> None:
        send = self._link.ask(replace(request, group=self.group))
        self.replica.send(send.to, send.body)

    # ------------------------------------------------------------ messages

    def _on_message(self, sender: str, body: msgspec.Struct) -> None:
        match body:
            case Fetch() | Held() | FetchAnswer():
                self._on_replica_message(sender, body)
            case Answer():
                self._learn(self._link.on_answer(sender, body))
            case MetadataPush(metadata=metadata):
                self._learn(metadata)
            case _:
                pass

    def _on_replica_message(self, sender: str, body: Fetch | Held | FetchAnswer) -> None:
        if self._metadata is None:
            return  # this life is not registered, so it cannot tell old from new
        if broker_rules.deposes(body.epoch, self.replica.epoch):
            self._hear_of_epoch(body.epoch)
        place = self._place
        if isinstance(place, Master):
            if isinstance(body, Fetch):
                place.on_fetch(sender, body)
            elif isinstance(body, Held):
                place.on_held(sender, body)
        elif isinstance(place, Follower) and isinstance(body, FetchAnswer):
            place.on_answer(sender, body)

    def _hear_of_epoch(self, epoch: int) -> None:
        """Another broker is in a later epoch: whatever this one was, it is no more."""
        self._leave()
        self.replica.epoch, self.replica.master = epoch, None
        self._ask(GetMetadata())

    def _learn(self, metadata: Metadata | None) -> None:
        """Take newer metadata of this life and the place it gives."""
        known = self._metadata
        if metadata is None or (known is not None and metadata.version <= known.version):
            return
        mine = [each.incarnation for each in metadata.group.brokers if each.broker == self.name]
        if mine != [self._incarnation]:
            return
        self._metadata = metadata
        group = metadata.group
        if group.epoch < self.replica.epoch:
            return
        own = (self.replica.epoch, self.replica.master)
        if broker_rules.is_other_place((group.epoch, group.master), own):
            self._leave()
            self.replica.epoch, self.replica.master = group.epoch, group.master
        if isinstance(self._place, Master):
            self._place.on_group(group)
        elif self._place is None and group.master == self.name:
            self._place = Master(self.replica, group)
        elif self._place is None and group.master is not None:
            self._place = Follower(self.replica, group.master)

    def _leave(self) -> None:
        if isinstance(self._place, Master):
            self._place.step_down()
        self._place = None

    # ------------------------------------------------------------ clients

    def _on_request(self, request_id: str, body: msgspec.Struct) -> None:
        if not isinstance(body, BrokerRequest):
            self.replica.reply(request_id, Rejected(reason="bad-request"))
            return
        try:
            self._serve(request_id, body)
        except ClientError as error:
            self.replica.reply(request_id, Rejected(reason=error.reason, master=self.replica.master))

    def _serve(self, request_id: str, body: BrokerRequest) -> None:
        if isinstance(body, GetReplica):
            self.replica.reply(request_id, self._status())
            return
        if self._metadata is None or self._place is None:
            raise ClientError("not-master")
        own = groups.owns(self.group, body.queue, self.replica.settings.groups)
        if not own or not 0 <= body.queue < self._metadata.topics.get(body.topic, 0):
            raise ClientError("unknown-queue")
        if isinstance(body, READS) and (body.offset < LEAST_OFFSET or body.records_max < 1):
            raise ClientError("bad-request")
        weak = broker_rules.weak_read(body)
        if weak is not None:
            self._poll(request_id, weak)
            return
        if not isinstance(self._place, Master):
            raise ClientError("not-master")
        match body:
            case Produce():
                self._place.produce(request_id, body)
            case Commit():
                self._place.commit(request_id, body)
            case Read() | GetOffsets() | FetchCommitted():
                self._place.strong_read(request_id, body)

    def _poll(self, request_id: str, body: Poll) -> None:
        if len(self._polls) >= WAITING_MAX:
            raise ClientError("busy")
        wait_ms = min(max(body.wait_ms, 0), self.replica.settings.wait_max_ms)
        asked = Parked(request_id, self.replica.now_ms + wait_ms, body, body.offset)
        if wait_ms == 0 or self._has_records(asked):
            self._answer_poll(asked)
        else:
            self._polls.add(asked._replace(offset=broker_rules.awaited_offset(body.offset)))

    def _has_records(self, parked: Parked) -> bool:
        key = QueueKey(parked.body.topic, parked.body.queue)
        return self.replica.log.queue_end(key, self.replica.readable_end) > parked.offset

    def _answer_poll(self, parked: Parked) -> None:
        key = QueueKey(parked.body.topic, parked.body.queue)
        self.replica.reply(parked.request_id, self.replica.polled(key, parked.offset, parked.body.records_max))

    def _status(self) -> ReplicaStatus:
        replica = self.replica
        group = self._metadata.group if self._metadata is not None else None
        topics = self._metadata.topics if self._metadata is not None else {}
        ends = {
            topic: tuple(replica.log.queue_length(QueueKey(topic, queue)) for queue in range(queues))
            for topic, queues in topics.items()
        }
        return ReplicaStatus(
            role=self.role,
            epoch=replica.epoch,
            master=replica.master,
            sync_state_set=group.sync_state_set if group else (),
            sss_epoch=group.sss_epoch if group else 0,
            end=replica.log.end,
            held=replica.held,
            confirmed=replica.confirmed,
            queue_ends=ends,
        )

    # ------------------------------------------------------------ what follows from every event

    def _settle(self) -> None:
        place = self._place
        if isinstance(place, Master):
            change = place.wanted_change()
            if change is not None:
                self._ask(change)
            place.settle()
        if self._polls.waits and self._polls_seen != self.replica.readable_end:
            self._polls_seen = self.replica.readable_end
            for parked in self._polls.take(self._has_records):
                self._answer_poll(parked)
