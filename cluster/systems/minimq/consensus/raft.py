"""Raft: three controllers agree on one log, as a core without clock, socket or file.

Elections with pre-vote and randomised time-outs, replication, the paper's commit rule, reads confirmed by a quorum
without leases. Sources: Ongaro and Ousterhout, USENIX ATC 2014 ("the paper"); Ongaro's dissertation, Stanford 2014,
sections 6.2 (a leader without a quorum steps down), 6.4 (ReadIndex), 9.6 (pre-vote), 10.2.1 (a leader sends before
its own write is durable and counts itself only after). What safety rests on is decided in ``raft_rules``.

It does not change its members and does not compact its log. Votes, requests for votes and answers to entries leave only
when all that was written before is durable.
"""

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Literal

import msgspec

from cluster.systems.minimq.consensus import raft_rules
from cluster.systems.minimq.consensus.raft_log import Log, Stored
from cluster.systems.minimq.protocol.io import (
    CancelTimer,
    Effect,
    Event,
    Message,
    Send,
    SetTimer,
    Timer,
    Truncate,
    Write,
    Written,
)
from cluster.systems.minimq.protocol.messages import (
    AppendAnswer,
    AppendEntries,
    Command,
    Entry,
    NoOp,
    PreVote,
    PreVoteAnswer,
    RaftMessage,
    RequestVote,
    VoteAnswer,
)

Role = Literal["follower", "precandidate", "candidate", "leader"]

ELECTION, HEARTBEAT, QUORUM = "raft-election", "raft-heartbeat", "raft-quorum"
HELD_MAX = 1024  # answers that wait for durability; beyond it the oldest is dropped, as a network may


class RaftSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An election starts ``election_ms`` to twice that after a leader was last heard."""

    heartbeat_ms: int = 100
    election_ms: int = 500
    entries_max: int = 64


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """The next committed entry; each index comes once in a core's life, in order."""

    entry: Entry


class ReadReady(msgspec.Struct, frozen=True, kw_only=True):
    """Everything committed before ``read(id)`` was called has been put out, and this node led after the call."""

    id: str


Output = Effect | Committed | ReadReady


class Raft:
    """One voter. Single-threaded; every public method returns what must be done, in order."""

    def __init__(
        self, *, name: str, peers: Sequence[str], stored: Stored, rng: Random, settings: RaftSettings | None = None
    ) -> None:
        self.name = name
        self.peers = tuple(peers)
        self.settings = settings or RaftSettings()
        self.term = stored.term
        self.voted_for = stored.voted_for
        self.log = Log(stored.entries)
        self.role: Role = "follower"
        self.leader: str | None = None
        self.commit = 0
        self._applied = 0
        self._rng = rng
        self._quorum = raft_rules.quorum_of(len(self.peers) + 1)
        self._now_ms = 0
        self._leader_heard_ms: int | None = None
        self._out: list[Output] = []
        # Durability: tokens issued and confirmed, log indices on their way to the disk, messages that wait for it.
        self._issued = self._written = 0
        self._durable_index = self.log.last_index
        self._writing: deque[tuple[int, int]] = deque()
        self._held: deque[tuple[int, Send]] = deque(maxlen=HELD_MAX)
        # A candidate's and a leader's view of the others.
        self._votes: set[str] = set()
        self._vote_token = 0
        self._next: dict[str, int] = {}
        self._match: dict[str, int] = {}
        self._heard: set[str] = set()
        self._round = 0
        self._rounds: dict[str, int] = {}
        self._first_of_term = 0
        self._reads: list[tuple[str, int, int]] = []

    @property
    def has_own_commit(self) -> bool:
        """Whether this node leads and has put out its own first entry, so all that earlier leaders committed."""
        return self.role == "leader" and self._applied >= self._first_of_term

    # ------------------------------------------------------------ what the owner calls

    def start(self, now_ms: int) -> list[Output]:
        """Come up as a follower that waits for a leader."""
        self._now_ms = now_ms
        self._await_leader()
        return self._take()

    def handle(self, event: Event, now_ms: int) -> list[Output]:
        """Take one event; other timers, strangers and messages that are not Raft's are passed over."""
        self._now_ms = now_ms
        match event:
            case Message(sender=sender, body=body) if sender in self.peers and isinstance(body, RaftMessage):
                self._on_message(sender, body)
            case Timer(name=name):
                self._on_timer(name)
            case Written(token=token):
                self._on_written(token)
            case _:
                pass
        return self._take()

    def propose(self, command: Command) -> list[Output]:
        """Append ``command``, as leader only, at ``log.last_index``; it holds once ``Committed`` brings it back."""
        assert self.role == "leader", "only a leader proposes"
        self._append(Entry(index=self.log.last_index + 1, term=self.term, command=command))
        self._broadcast()
        return self._take()

    def read(self, id_: str) -> list[Output]:
        """Ask, as leader only, for ``ReadReady(id_)`` (dissertation 6.4); it never comes if leadership ends first."""
        assert self.role == "leader", "only a leader serves reads"
        self._round += 1
        # Until this term's first entry is committed, the leader cannot know how far its predecessors committed.
        self._reads.append((id_, max(self.commit, self._first_of_term), self._round))
        self._broadcast()
        return self._take()

    # ------------------------------------------------------------ events

    def _on_timer(self, name: str) -> None:
        match name:
            case "raft-election" if self.role != "leader":
                self._pre_campaign()
            case "raft-heartbeat" if self.role == "leader":
                self._broadcast()
                self._out.append(SetTimer(name=HEARTBEAT, delay_ms=self.settings.heartbeat_ms))
            case "raft-quorum" if self.role == "leader":
                if len(self._heard) + 1 < self._quorum:
                    self._follow(self.term, leader=None)
                else:
                    self._heard.clear()
                    self._out.append(SetTimer(name=QUORUM, delay_ms=2 * self.settings.election_ms))
            case _:
                pass

    def _on_written(self, token: int) -> None:
        self._written = max(self._written, token)
        while self._writing and self._writing[0][0] <= self._written:
            self._durable_index = self._writing.popleft()[1]
        while self._held and self._held[0][0] <= self._written:
            self._out.append(self._held.popleft()[1])
        if self.role == "candidate" and self._vote_token <= self._written:
            self._votes.add(self.name)
            self._count_votes()

    def _on_message(self, sender: str, body: RaftMessage) -> None:
        if isinstance(body, PreVote):
            self._on_pre_vote(sender, body)
            return
        if body.term > self.term and not (isinstance(body, PreVoteAnswer) and body.granted):
            self._follow(body.term, leader=None)
        match body:
            case AppendEntries():
                self._on_append(sender, body)
            case AppendAnswer():
                if self.role == "leader" and body.term == self.term:
                    self._on_append_answer(sender, body)
            case PreVoteAnswer() | VoteAnswer():
                self._on_vote(sender, body)
            case RequestVote():
                self._on_request_vote(sender, body)

    # ------------------------------------------------------------ elections

    def _pre_campaign(self) -> None:
        self.role, self.leader = "precandidate", None
        self._votes = {self.name}
        last_term, last_index = self.log.last
        for peer in self.peers:
            body = PreVote(term=self.term + 1, last_index=last_index, last_term=last_term)
            self._out.append(Send(to=peer, body=body))
        self._await_leader()
        self._count_votes()

    def _campaign(self) -> None:
        self.role = "candidate"
        self._votes = set()
        self._set_term(self.term + 1, self.name)
        self._vote_token = self._issued
        last_term, last_index = self.log.last
        for peer in self.peers:
            self._send_when_durable(peer, RequestVote(term=self.term, last_index=last_index, last_term=last_term))
        self._await_leader()

    def _on_vote(self, sender: str, body: PreVoteAnswer | VoteAnswer) -> None:
        awaited = ("precandidate", self.term + 1) if isinstance(body, PreVoteAnswer) else ("candidate", self.term)
        if body.granted and (self.role, body.term) == awaited:
            self._votes.add(sender)
            self._count_votes()

    def _count_votes(self) -> None:
        if len(self._votes) < self._quorum:
            return
        if self.role == "precandidate":
            self._campaign()
        else:
            self._lead()

    def _on_pre_vote(self, sender: str, body: PreVote) -> None:
        leader_lives = self.role == "leader" or (
            self._leader_heard_ms is not None and self._now_ms - self._leader_heard_ms < self.settings.election_ms
        )
        current = raft_rules.is_up_to_date((body.last_term, body.last_index), self.log.last)
        vote_is_free = body.term > self.term or (
            body.term == self.term and self.leader is None and raft_rules.may_vote(self.voted_for, sender)
        )
        granted = vote_is_free and current and not leader_lives
        answer = PreVoteAnswer(term=body.term if granted else self.term, granted=granted)
        self._send_when_durable(sender, answer)

    def _on_request_vote(self, sender: str, body: RequestVote) -> None:
        granted = (
            body.term == self.term
            and raft_rules.may_vote(self.voted_for, sender)
            and raft_rules.is_up_to_date((body.last_term, body.last_index), self.log.last)
        )
        if granted:
            if self.voted_for is None:
                self._set_term(self.term, sender)
            self._follow(self.term, self.leader)
            self._await_leader()
        self._send_when_durable(sender, VoteAnswer(term=self.term, granted=granted))

    def _lead(self) -> None:
        self.role, self.leader = "leader", self.name
        self._next = dict.fromkeys(self.peers, self.log.last_index + 1)
        self._match = dict.fromkeys(self.peers, 0)
        self._rounds = dict.fromkeys(self.peers, 0)
        self._round = 0
        self._heard.clear()
        self._first_of_term = self.log.last_index + 1
        self._append(Entry(index=self._first_of_term, term=self.term, command=NoOp()))
        self._out.append(CancelTimer(name=ELECTION))
        self._out.append(SetTimer(name=HEARTBEAT, delay_ms=self.settings.heartbeat_ms))
        self._out.append(SetTimer(name=QUORUM, delay_ms=2 * self.settings.election_ms))
        self._broadcast()

    def _follow(self, term: int, leader: str | None) -> None:
        if term > self.term:
            self._set_term(term, None)
        if self.role == "leader":
            self._out += [CancelTimer(name=HEARTBEAT), CancelTimer(name=QUORUM)]
            self._reads.clear()
            self._await_leader()
        self.role, self.leader = "follower", leader

    def _await_leader(self) -> None:
        delay_ms = self._rng.randint(self.settings.election_ms, 2 * self.settings.election_ms)
        self._out.append(SetTimer(name=ELECTION, delay_ms=delay_ms))

    # ------------------------------------------------------------ replication

    def _broadcast(self) -> None:
        for peer in self.peers:
            self._send_entries(peer)

    def _send_entries(self, peer: str) -> None:
        prev_index = self._next[peer] - 1
        body = AppendEntries(
            term=self.term,
            prev_index=prev_index,
            prev_term=self.log.term_at(prev_index),
            entries=self.log.after(prev_index, self.settings.entries_max),
            commit=self.commit,
            round=self._round,
        )
        self._out.append(Send(to=peer, body=body))

    def _on_append(self, sender: str, body: AppendEntries) -> None:
        if body.term < self.term:
            # Round 0 confirms no read: the sender may lead again in this newer term, and its rounds began anew with it.
            self._send_when_durable(sender, AppendAnswer(term=self.term, matched=False, index=0, round=0))
            return
        self._follow(body.term, leader=sender)
        self._leader_heard_ms = self._now_ms
        self._await_leader()
        matched = self.log.term_at(body.prev_index) == body.prev_term
        if matched:
            self._store(body.entries)
            index = body.prev_index + len(body.entries)
            self.commit = max(self.commit, min(body.commit, index))
        elif body.prev_index > self.log.last_index:
            index = self.log.last_index + 1
        else:
            index = self.log.first_of_term_at(body.prev_index)
        self._send_when_durable(sender, AppendAnswer(term=self.term, matched=matched, index=index, round=body.round))

    def _store(self, entries: Sequence[Entry]) -> None:
        """Keep what agrees, since a late message may carry less than is held; remove only from a conflict on."""
        for entry in entries:
            held_term = self.log.term_at(entry.index)
            if held_term == entry.term:
                continue
            if held_term != -1:
                self._truncate(entry.index)
            self._append(entry)

    def _on_append_answer(self, sender: str, body: AppendAnswer) -> None:
        self._heard.add(sender)
        self._rounds[sender] = max(self._rounds[sender], body.round)
        if body.matched:
            self._match[sender] = max(self._match[sender], body.index)
            self._next[sender] = max(self._next[sender], self._match[sender] + 1)
        else:
            self._next[sender] = max(self._match[sender] + 1, min(self._next[sender] - 1, body.index))
        if self._next[sender] <= self.log.last_index:
            self._send_entries(sender)

    # ------------------------------------------------------------ durability

    def _set_term(self, term: int, voted_for: str | None) -> None:
        self.term, self.voted_for = term, voted_for
        self._write(raft_rules.hard_state(term, voted_for))

    def _append(self, entry: Entry) -> None:
        self.log.append(entry)
        self._write(entry)
        self._writing.append((self._issued, entry.index))

    def _write(self, record: msgspec.Struct) -> None:
        self._issued += 1
        self._out.append(Write(token=self._issued, record=record))

    def _truncate(self, start: int) -> None:
        self.log.truncate(start)
        self._issued += 1
        self._out.append(Truncate(token=self._issued, start=start))
        self._durable_index = min(self._durable_index, start - 1)
        while self._writing and self._writing[-1][1] >= start:
            self._writing.pop()

    def _send_when_durable(self, to: str, body: RaftMessage) -> None:
        send = Send(to=to, body=body)
        if self._written == self._issued:
            self._out.append(send)
        else:
            self._held.append((self._issued, send))

    # ------------------------------------------------------------ what follows from every event

    def _take(self) -> list[Output]:
        if self.role == "leader":
            matched = [*self._match.values(), self._durable_index]
            self.commit = raft_rules.committed_by(matched, self.term, self.commit, self.log.term_at)
        while self._applied < min(self.commit, self.log.last_index):
            self._out += [Committed(entry=entry) for entry in self.log.after(self._applied, 1)]
            self._applied += 1
        if self._reads:
            self._serve_reads()
        out, self._out = self._out, []
        return out

    def _serve_reads(self) -> None:
        rounds = sorted([*self._rounds.values(), self._round], reverse=True)
        confirmed = rounds[self._quorum - 1]
        waiting = []
        for id_, index, round_ in self._reads:
            if round_ <= confirmed and index <= self._applied:
                self._out.append(ReadReady(id=id_))
            else:
                waiting.append((id_, index, round_))
        self._reads = waiting
