"""What controllers say to each other and what they are asked, as frozen structs.

Shells turn these into msgpack by their tags. Raft's messages follow figure 2 of Ongaro and Ousterhout, "In Search of an
Understandable Consensus Algorithm" (USENIX ATC 2014), with the pre-vote of section 9.6 of Ongaro's dissertation
(Stanford 2014) and a round number for its section 6.4 (reads without the log).

``voter``, ``leader``, ``broker`` and ``master`` are node names, ``group`` names a replica group. Indices of the
controllers' log start at 1; 0 with term 0 stands before the first entry.
"""

from typing import Annotated, Any, Literal

import msgspec

from cluster.systems.minimq.protocol.groups import ONE

Name = Annotated[str, msgspec.Meta(max_length=255)]
"""What strangers may name things: bounded where bytes become messages, since names are kept for ever."""

# ---------------------------------------------------------------- metadata, as brokers and clients see it


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that belongs to a replica group, in its present life: of two, the later ``incarnation`` is greater."""

    broker: str
    incarnation: str


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A replica group.

    ``epoch`` is that of the last elected master, also while there is none. ``sss_epoch`` counts the changes of the
    SyncStateSet, whatever their cause.
    """

    brokers: tuple[Registered, ...] = ()
    master: str | None = None
    epoch: int = 0
    sync_state_set: tuple[str, ...] = ()
    sss_epoch: int = 0


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The controllers' state of one group; ``topics``: queues of all groups.

    Of two, that with the higher ``version`` (a log index) is newer.
    """

    version: int = 0
    topics: dict[str, int] = msgspec.field(default_factory=dict)
    group: Group = msgspec.field(default_factory=Group)


# ---------------------------------------------------------------- what brokers and clients ask of a controller


class RegisterBroker(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A broker has started, in a life greater than any before. If it was the master, its mastership ends."""

    broker: Name
    incarnation: Name
    group: Name = ONE


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A registered broker lives. ``epoch`` is the newest it knows, ``log_end`` the position after its last record."""

    broker: str
    incarnation: str
    epoch: int
    log_end: int
    group: str = ONE


class AlterSyncStateSet(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The master of ``epoch`` wants ``new_set``, knowing the one numbered ``sss_epoch``."""

    master: str
    epoch: int
    new_set: tuple[str, ...]
    sss_epoch: int
    group: str = ONE


class CreateTopic(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Create ``topic`` with so many ``queues`` over all groups; asked twice with the same number it succeeds twice."""

    topic: Name
    queues: int


class GetMetadata(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The newest metadata of a group: nothing that was answered before this was asked is missing."""

    group: str = ONE


class GetStatus(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What this node believes of itself now, stale or not; for observers."""


class GetSettings(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What this node goes by; every node answers, whatever its role."""


ControllerRequest = RegisterBroker | Heartbeat | AlterSyncStateSet | CreateTopic | GetMetadata | GetStatus

RefusedReason = Literal[
    "not-leader",
    "unknown-broker",
    "not-master",
    "stale-epoch",
    "bad-set",
    "dead-member",
    "topic-exists",
    "bad-topic",
    "busy",
]


class Accepted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Done; ``metadata`` is the state after it (after a heartbeat: the newest this leader has applied)."""

    metadata: Metadata


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Certainly not done. ``leader`` is a hint where to ask, ``metadata`` what the refusal was judged by."""

    reason: RefusedReason
    leader: str | None = None
    metadata: Metadata | None = None


class Indefinite(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Nobody knows whether it was or will be done."""

    reason: Literal["deadline", "stepped-down"]


class Status(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A controller's belief of itself, and the metadata of each group; ``commit`` and ``last`` are log indices."""

    role: Literal["follower", "candidate", "leader"]
    term: int
    leader: str | None
    commit: int
    last: int
    metadata: dict[str, Metadata]


class Settings(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a node goes by, and its bug (empty: none).

    ``values``: the fields of ``BrokerSettings`` and ``segment_bytes``, or those of ``ControllerSettings``.
    ``bug_share``: the share of its decisions in which the bug deviates.
    """

    values: dict[str, Any]
    bug: str
    bug_share: float = 1.0


ControllerAnswer = Accepted | Refused | Indefinite | Status


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A broker's request as a message; the ``Answer``, if it arrives, carries the same ``number``."""

    number: int
    request: ControllerRequest


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to the sender's ``Ask`` of this ``number``."""

    number: int
    answer: ControllerAnswer


class MetadataPush(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A leader tells a broker of a change unasked. Only ever applied, hence committed, metadata; it may come late."""

    metadata: Metadata


# ---------------------------------------------------------------- the controllers' log


class NoOp(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A leader's first entry: what it makes committed proves that everything before it is."""


class ElectMaster(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Make ``master`` the master of epoch ``after_epoch`` + 1, with ``sync_state_set`` the members believed alive."""

    master: str
    after_epoch: int
    sync_state_set: tuple[str, ...]
    unclean: bool = False
    group: str = ONE


Command = NoOp | RegisterBroker | AlterSyncStateSet | CreateTopic | ElectMaster


class Entry(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One entry of the controllers' log; also the durable record of it."""

    index: int
    term: int
    command: Command


class HardState(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The durable record of a term and the vote in it."""

    term: int
    voted_for: str | None


# ---------------------------------------------------------------- Raft


class PreVote(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Would you vote for me in ``term``? Binds nobody."""

    term: int
    last_index: int
    last_term: int


class PreVoteAnswer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """``term`` is the proposed one if granted, else the voter's own."""

    term: int
    granted: bool


class RequestVote(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Vote for me in ``term``."""

    term: int
    last_index: int
    last_term: int


class VoteAnswer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The vote in ``term``, which is the voter's."""

    term: int
    granted: bool


class AppendEntries(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The leader's entries after (``prev_index``, ``prev_term``); none is a heartbeat. ``round`` comes back."""

    term: int
    prev_index: int
    prev_term: int
    entries: tuple[Entry, ...]
    commit: int
    round: int


class AppendAnswer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """``matched``: the log is durably the leader's up to ``index``; else ``index`` is the next one worth trying.

    ``round`` is that of the entries which are answered, 0 where they were of an older term.
    """

    term: int
    matched: bool
    index: int
    round: int


RaftMessage = AppendEntries | AppendAnswer | PreVote | PreVoteAnswer | RequestVote | VoteAnswer
