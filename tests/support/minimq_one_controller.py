"""The controllers' own rules in one process that never fails, for worlds that are about brokers."""

from cluster.systems.minimq.consensus import metadata
from cluster.systems.minimq.protocol.messages import (
    Accepted,
    AlterSyncStateSet,
    Answer,
    ElectMaster,
    Heartbeat,
    Metadata,
    MetadataPush,
    Refused,
    RegisterBroker,
    Registered,
)

TOPIC = "t"
QUEUES = 2
DEAD_AFTER_MS = 1500


class Controller:
    """The controllers' own rules in one process that never fails, with a crude failure detector."""

    def __init__(self, send):
        self.metadata = Metadata(topics={TOPIC: QUEUES})
        self.index = 0
        self.heard_ms = {}
        self.masters = {}
        self.send = send
        self.prefer = 0

    @property
    def group(self):
        return self.metadata.group

    def apply(self, command):
        self.index += 1
        before = self.metadata
        self.metadata, refused = metadata.applied(before, self.index, command)
        if self.metadata is not before:
            for broker in self.group.brokers:
                self.send(broker.broker, MetadataPush(metadata=self.metadata))
        return refused

    def handle(self, sender, ask, now_ms):
        request, refused = ask.request, None
        match request:
            case Heartbeat(broker=broker, incarnation=incarnation):
                if Registered(broker=broker, incarnation=incarnation) in self.group.brokers:
                    self.heard_ms[broker] = now_ms
                else:
                    refused = "unknown-broker"
            case AlterSyncStateSet(new_set=new_set):
                dead = not set(new_set) <= self.alive(now_ms) | set(self.group.sync_state_set)
                refused = "dead-member" if dead else self.apply(request)
            case RegisterBroker(broker=broker):
                refused = self.apply(request)
                if refused is None:
                    self.heard_ms[broker] = now_ms
            case _:
                pass
        answer = Accepted(metadata=self.metadata)
        if refused is not None:
            answer = Refused(reason=refused, metadata=self.metadata)
        self.send(sender, Answer(number=ask.number, answer=answer))

    def alive(self, now_ms):
        return {name for name, heard_ms in self.heard_ms.items() if now_ms - heard_ms <= DEAD_AFTER_MS}

    def look(self, now_ms):
        alive = self.alive(now_ms)
        candidates = metadata.eligible_masters(self.group, alive, unclean=False)
        if self.group.master not in alive and candidates:
            master = candidates[self.prefer % len(candidates)]
            members = tuple(name for name in self.group.sync_state_set if name in alive)
            self.apply(ElectMaster(master=master, after_epoch=self.group.epoch, sync_state_set=members))
            self.masters[self.group.epoch] = self.group.master
