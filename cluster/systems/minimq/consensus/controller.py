"""A controller: the metadata behind Raft, the requests of brokers and clients, and the failure detector of brokers.

Only the leader of the controllers serves. What changes the metadata goes through the log and is answered when it is
committed; a read of the metadata waits until a quorum confirmed the leader (``Raft.read``). Each replica group has
metadata and a master of its own. Heartbeats stay out of the log: a new leader takes every broker for alive until it has
been silent for ``dead_after_ms`` under this leader.

It does not make a master out of a broker that is not known to hold what was confirmed (unless unclean elections are
asked for), and does not depose a silent master when no other broker could follow it: that one may well be serving.
"""

from random import Random
from typing import TypeVar

import msgspec

from cluster.systems.minimq.consensus import controller_rules
from cluster.systems.minimq.consensus import metadata as rules
from cluster.systems.minimq.consensus.raft import Committed, Output, Raft, RaftSettings, ReadReady
from cluster.systems.minimq.consensus.raft_log import Stored
from cluster.systems.minimq.protocol import groups
from cluster.systems.minimq.protocol.io import ClientRequest, Effect, Event, Message, Reply, Send, SetTimer, Timer
from cluster.systems.minimq.protocol.messages import (
    Accepted,
    AlterSyncStateSet,
    Answer,
    Ask,
    Command,
    ControllerAnswer,
    ControllerRequest,
    CreateTopic,
    ElectMaster,
    Entry,
    GetMetadata,
    GetStatus,
    Group,
    Heartbeat,
    Indefinite,
    Metadata,
    MetadataPush,
    Refused,
    RefusedReason,
    RegisterBroker,
    Status,
)

_Key = TypeVar("_Key")

LOOK = "controller-look"
WAITING_MAX = 1024
"""Requests that wait for the log or for a quorum; more are refused as busy."""


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``look_ms`` is the grain of the failure detector and of deadlines."""

    raft: RaftSettings = msgspec.field(default_factory=RaftSettings)
    dead_after_ms: int = 1500
    look_ms: int = 100
    request_timeout_ms: int = 3000
    unclean_election: bool = False
    groups: int = 1


class _Asker(msgspec.Struct, frozen=True):
    """Whom to answer: the client request ``id``, or the ``number`` of the node ``sender``."""

    id: str = ""
    sender: str = ""
    number: int = 0


class _Waiting(msgspec.Struct, frozen=True, kw_only=True):
    asker: _Asker
    deadline_ms: int
    group: str


class _Sign(msgspec.Struct, frozen=True, kw_only=True):
    """The last sign of life of a broker, and how far its log reached."""

    heard_ms: int
    reach: tuple[int, int] = (0, 0)


def _applied(
    before: dict[str, Metadata], index: int | None, command: Command
) -> tuple[dict[str, Metadata], RefusedReason | None]:
    """The metadata of groups after a command, and why it is unchanged where it was refused.

    ``index``: at which the command was committed, None while nobody knows whether it will be.
    """
    after, refused = dict[str, Metadata](), None
    for name, metadata in before.items():
        after[name], why = rules.applied(metadata, metadata.version if index is None else index, command)
        refused = refused or why
    return after, refused


class Controller:
    """One of the controllers in one life. Single-threaded; implements ``io.Core``."""

    def __init__(
        self,
        *,
        name: str,
        controllers: tuple[str, ...],
        stored: Stored,
        rng: Random,
        settings: ControllerSettings | None = None,
    ) -> None:
        self.name = name
        self.settings = settings or ControllerSettings()
        peers = [each for each in controllers if each != name]
        self.raft = Raft(name=name, peers=peers, stored=stored, rng=rng, settings=self.settings.raft)
        self.metadata = {name: Metadata() for name in groups.names(self.settings.groups)}
        self._now_ms = 0
        self._out: list[Effect] = []
        self._leading_term: int | None = None
        self._led_since_ms = 0
        self._signs: dict[str, _Sign] = {}
        self._elected_at: dict[str, int] = {}
        self._applied_index = 0
        self._changed = False
        self._writes: dict[tuple[int, int], _Waiting] = {}  # by (index, term)
        self._reads: dict[str, _Waiting] = {}
        self._read_number = 0

    def start(self, now_ms: int) -> list[Effect]:
        """Come up as a follower."""
        self._now_ms = now_ms
        self._absorb(self.raft.start(now_ms))
        return self._take()

    def handle(self, event: Event, now_ms: int) -> list[Effect]:
        """Take one event; what is nobody's does nothing."""
        self._now_ms = now_ms
        match event:
            case Message(sender=sender, body=body):
                if isinstance(body, Ask):
                    self._on_request(_Asker(sender=sender, number=body.number), body.request)
                else:
                    self._absorb(self.raft.handle(event, now_ms))
            case ClientRequest(id=id_, body=body):
                self._on_request(_Asker(id=id_), body)
            case Timer(name="controller-look"):
                if self._leading_term is not None:
                    self._look()
                    self._out.append(SetTimer(name=LOOK, delay_ms=self.settings.look_ms))
            case _:
                self._absorb(self.raft.handle(event, now_ms))
        return self._take()

    # ------------------------------------------------------------ requests

    def _on_request(self, asker: _Asker, body: msgspec.Struct) -> None:
        if not isinstance(body, ControllerRequest):
            raise TypeError(f"{self.name} was asked {type(body).__name__}: a shell passes on controller requests only")
        if isinstance(body, GetStatus):
            self._answer(asker, self._status())
        elif self.raft.role != "leader":
            self._refuse(asker, "not-leader", self._about(body)[0])
        elif any(name not in self.metadata for name in self._about(body)):
            self._refuse(asker, "unknown-broker", self._about(body)[0])
        elif isinstance(body, Heartbeat):
            self._on_heartbeat(asker, body)
        elif len(self._writes) + len(self._reads) >= WAITING_MAX:
            self._refuse(asker, "busy", self._about(body)[0])
        elif isinstance(body, GetMetadata):
            self._read_number += 1
            self._reads[str(self._read_number)] = self._waiting(asker, body.group)
            self._absorb(self.raft.read(str(self._read_number)))
        else:
            self._on_command(asker, body)

    def _about(self, request: ControllerRequest | Command) -> tuple[str, ...]:
        """The groups that a request or a command is about: what names none is about all."""
        group = getattr(request, "group", None)
        return tuple(self.metadata) if group is None else (group,)

    def _on_heartbeat(self, asker: _Asker, body: Heartbeat) -> None:
        brokers = self.metadata[body.group].group.brokers
        if not any((each.broker, each.incarnation) == (body.broker, body.incarnation) for each in brokers):
            self._refuse(asker, "unknown-broker", body.group)
            return
        self._signs[body.broker] = _Sign(heard_ms=self._now_ms, reach=(body.epoch, body.log_end))
        self._answer(asker, Accepted(metadata=self.metadata[body.group]))

    def _on_command(self, asker: _Asker, command: RegisterBroker | AlterSyncStateSet | CreateTopic) -> None:
        first = self._about(command)[0]
        if self._is_current():
            # Judged before it costs a log entry; the judgement that counts is made when it is applied.
            before = {name: self.metadata[name] for name in self._about(command)}
            after, refused = _applied(before, None, command)
            refused = refused or self._judge_members(command)
            if refused is not None:
                self._refuse(asker, refused, first)
                return
            if all(after[name] is before[name] for name in before):
                self._answer(asker, Accepted(metadata=after[first]))
                return
        index = self.raft.log.last_index + 1
        self._writes[index, self.raft.term] = self._waiting(asker, first)
        self._propose(command)

    def _judge_members(self, command: Command) -> RefusedReason | None:
        """A silent broker does not enter the SyncStateSet, only to be waited for."""
        if isinstance(command, AlterSyncStateSet):
            group = self.metadata[command.group].group
            entering = set(command.new_set) - set(group.sync_state_set)
            return None if entering <= self._alive(group) else "dead-member"
        return None

    def _status(self) -> Status:
        role = self.raft.role
        return Status(
            role="candidate" if role == "precandidate" else role,
            term=self.raft.term,
            leader=self.raft.leader,
            commit=self.raft.commit,
            last=self.raft.log.last_index,
            metadata=self.metadata,
        )

    # ------------------------------------------------------------ failure detection and elections of masters

    def _look(self) -> None:
        self._elect()
        self._expire(self._writes)
        self._expire(self._reads)

    def _expire(self, waiting: dict[_Key, _Waiting]) -> None:
        for key in [key for key, each in waiting.items() if each.deadline_ms <= self._now_ms]:
            self._answer(waiting.pop(key).asker, Indefinite(reason="deadline"))

    def _alive(self, group: Group) -> set[str]:
        dead_after_ms = self.settings.dead_after_ms
        registered = [each.broker for each in group.brokers]
        silent = _Sign(heard_ms=self._led_since_ms)
        return {
            name
            for name in registered
            if controller_rules.is_alive(self._signs.get(name, silent).heard_ms, self._now_ms, dead_after_ms)
        }

    def _elect(self) -> None:
        for name in self.metadata:
            self._elect_in(name)

    def _elect_in(self, name: str) -> None:
        """Propose a master if there is none alive and somebody may be; one proposal at a time for each group."""
        group = self.metadata[name].group
        alive = self._alive(group)
        if not self._is_current() or group.master in alive or self._elected_at.get(name, 0) > self._applied_index:
            return
        candidates = rules.eligible_masters(group, alive, unclean=self.settings.unclean_election)
        if not candidates:
            return
        # All of them hold what was confirmed; the longest log keeps most of what was not.
        master = max(candidates, key=lambda broker: self._signs.get(broker, _Sign(heard_ms=0)).reach)
        members = tuple(broker for broker in group.sync_state_set if broker in alive)
        unclean = self.settings.unclean_election
        self._elected_at[name] = self.raft.log.last_index + 1
        self._propose(
            ElectMaster(master=master, after_epoch=group.epoch, sync_state_set=members, unclean=unclean, group=name)
        )

    # ------------------------------------------------------------ the log

    def _is_current(self) -> bool:
        """Whether all that earlier leaders committed has been applied here."""
        return self.raft.has_own_commit

    def _propose(self, command: Command) -> None:
        self._absorb(self.raft.propose(command))

    def _absorb(self, outputs: list[Output]) -> None:
        for output in outputs:
            match output:
                case Send() | SetTimer():  # nearly all
                    self._out.append(output)
                case Committed(entry=entry):
                    self._apply(entry)
                case ReadReady(id=id_):
                    if id_ in self._reads:
                        reading = self._reads.pop(id_)
                        self._answer(reading.asker, Accepted(metadata=self.metadata[reading.group]))
                case _:
                    self._out.append(output)

    def _apply(self, entry: Entry) -> None:
        before = {name: self.metadata[name] for name in self._about(entry.command)}
        after, refused = _applied(before, entry.index, entry.command)
        self.metadata |= after
        self._applied_index = entry.index
        for name in before if self.raft.role == "leader" else ():
            if after[name] is not before[name]:
                self._tell(entry.command, after[name])
        waiting = self._writes.pop((entry.index, entry.term), None)
        if waiting is not None and refused is None:
            self._answer(waiting.asker, Accepted(metadata=self.metadata[waiting.group]))
        elif waiting is not None and refused is not None:
            self._refuse(waiting.asker, refused, waiting.group)

    def _tell(self, command: Command, metadata: Metadata) -> None:
        """Tell a group's brokers what a command has changed."""
        self._changed = True
        if isinstance(command, RegisterBroker):
            self._signs[command.broker] = _Sign(heard_ms=self._now_ms)
        for each in metadata.group.brokers:
            self._out.append(Send(to=each.broker, body=MetadataPush(metadata=metadata)))

    # ------------------------------------------------------------ what follows from every event

    def _take(self) -> list[Effect]:
        leading_term = self.raft.term if self.raft.role == "leader" else None
        if leading_term != self._leading_term:
            self._on_leadership(leading_term)
        if self._changed:
            self._changed = False
            if self._leading_term is not None:
                self._elect()
        out, self._out = self._out, []
        return out

    def _on_leadership(self, term: int | None) -> None:
        for waiting in (*self._writes.values(), *self._reads.values()):
            self._answer(waiting.asker, Indefinite(reason="stepped-down"))
        self._writes.clear()
        self._reads.clear()
        self._signs.clear()
        self._leading_term = term
        self._elected_at.clear()
        if term is not None:
            self._led_since_ms = self._now_ms
            self._out.append(SetTimer(name=LOOK, delay_ms=self.settings.look_ms))

    def _waiting(self, asker: _Asker, group: str) -> _Waiting:
        return _Waiting(asker=asker, deadline_ms=self._now_ms + self.settings.request_timeout_ms, group=group)

    def _refuse(self, asker: _Asker, reason: RefusedReason, group: str) -> None:
        self._answer(asker, Refused(reason=reason, leader=self.raft.leader, metadata=self.metadata.get(group)))

    def _answer(self, asker: _Asker, body: ControllerAnswer) -> None:
        if asker.sender:
            self._out.append(Send(to=asker.sender, body=Answer(number=asker.number, answer=body)))
        else:
            self._out.append(Reply(id=asker.id, body=body))
