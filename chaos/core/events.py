"""Faults, observations and phases: the part of a history that no client did.

One JSON object a line, written as it happens (``history/*.events``), by the harness and by the observer alike, each
stamped with the run's one clock. Each ends with a checksum of all lines so far, and ``chaos.storage.event_files`` reads
them.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from chaos.basics.checksums import with_checksum
from chaos.core.clock import now_ns
from chaos.core.fault_nature import Identity, identity_of

OBSERVE_PERIOD_S: Final = 1.0
"""The observer asks every node once in so many seconds, and waits less than that for the answer."""

DID_NOT_LAST: Final = "did-not-last"
"""In the details of the evidence of a healing: node → how the fault had ended there before it was healed."""

CLOCK_SKEW: Final = "clock-skew"
"""The note of a host's wall clock against the control host's: ``ahead_ns`` and ``error_ns`` in its data."""

LEFT_BEHIND: Final = "left-behind"
"""The note of what a run left on a cluster that goes on without it, and of what it removed there."""

RUN_EVENTS: Final = "run.events"
"""The file of a run's own events; the observer has another."""


class Phase(msgspec.Struct, frozen=True, kw_only=True, tag="phase"):
    """A phase of the run begins or ends.

    Names, in order: deploy, ready, load (with warm-up), recovery, heal, settle, drain, replicas, collect.
    ``edge`` "end" with ``ok`` false is a phase that broke; a drain phase without its end with
    ``ok`` true makes the run not valid (SEMANTICS 11).
    """

    time_ns: int
    name: str
    edge: Literal["start", "end"]
    ok: bool = True
    note: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen from outside of a fault or of its healing.

    ``summary`` is one line for the fault table ("6 of 6 probes across the cut dropped, 6 of 6
    inside pass"); ``details`` are JSON values.
    """

    kind: str
    proven: bool
    summary: str
    details: dict[str, Any] = {}


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag="fault"):
    """A stage in the life of one planned fault.

    Stages: ``inject`` (acting began), ``active`` (acting ended and was looked at: ``evidence``),
    ``heal`` (undoing began; ``evidence``: the last look before it, None if there was none), ``healed`` (undone and
    looked at: ``evidence``; until it is proven ``heal`` and ``healed`` come again), ``skipped`` (no target until the
    row's end: counted, not unproven), ``broke`` (acting raised, or the last look did not see the fault; ``note`` says
    what).

    ``name`` is for people. ``identity`` says which fault it is; older histories do not have it, so ask
    ``told_identity``.
    """

    time_ns: int
    id: int
    name: str
    stage: Literal["inject", "active", "heal", "healed", "skipped", "broke"]
    targets: tuple[str, ...] = ()
    description: str = ""
    evidence: Evidence | None = None
    note: str = ""
    identity: Identity | None = None

    @property
    def told_identity(self) -> Identity:
        """Which fault it is, as far as the event tells: by its own members, of an older history by its name."""
        return identity_of(self.identity, self.name)


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a node said of who leads a subject: a replica group, a partition, the controllers.

    A node that names itself the ``leader`` claims to lead; one that names another passes on what it knows. ``leader``
    None: nobody leads, as far as it knows. ``epoch``: in which epoch or term the leader leads. ``members``: the nodes
    in sync with it, in order. ``members_epoch``: the number of that set, which grows with each change.
    Fields that were not learned are None.
    """

    subject: str
    leader: str | None = None
    epoch: int | None = None
    members: tuple[str, ...] | None = None
    members_epoch: int | None = None


class Observation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="observed"):
    """What one node, asked by the observer, said of itself or of the cluster.

    Fields that were not learned are None. ``role``: the node's own word for what it is ("master", "slave"), for
    people; who leads is in ``claims`` alone. ``claims``: one for each subject that the node knows of; empty if it
    knows of none, None if it did not say. ``repeated``: in a file, the claims are left out because they are those of
    this node's last answer that had any; ``chaos.storage.repeated_claims`` puts them back when events are read.
    ``max_offsets``: queue → next offset.
    """

    time_ns: int
    asked_ns: int
    node: str
    alive: bool
    role: str | None = None
    claims: tuple[Claim, ...] | None = None
    repeated: bool = False
    max_offsets: dict[str, int] | None = None
    error: str | None = None

    def led(self) -> tuple[Claim, ...]:
        """The claims to lead: of the subjects that the node says it leads itself."""
        return tuple(claim for claim in self.claims or () if claim.leader == self.node)


class Note(msgspec.Struct, frozen=True, kw_only=True, tag="note"):
    """Anything else worth keeping: a node that died by itself, a worker that ended, pressure figures."""

    time_ns: int
    name: str
    node: str | None = None
    text: str = ""
    data: dict[str, Any] = {}


Event = Phase | Fault | Observation | Note


class EventLog:
    """Appends events to one file, a line each, visible to readers at once.

    ``told``: is given each event after it was written; it must not wait for anything, and what it raises is dropped,
    because whoever looks on must not keep anybody from healing.
    """

    def __init__(self, path: Path, told: Callable[[Event], None] | None = None) -> None:
        self._told = told
        self._encoder = msgspec.json.Encoder()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._writing = threading.Lock()
        self._checksum = 0

    def emit(self, event: Event) -> None:
        """Write one event; O_APPEND makes a line whole."""
        with self._writing:
            line, self._checksum = with_checksum(self._encoder.encode(event), self._checksum)
            os.write(self._fd, line + b"\n")
        if self._told is not None:
            with suppress(Exception):
                self._told(event)

    def phase(self, name: str, edge: Literal["start", "end"], *, ok: bool = True, note: str = "") -> None:
        """Write a phase edge stamped now."""
        self.emit(Phase(time_ns=now_ns(), name=name, edge=edge, ok=ok, note=note))

    def close(self) -> None:
        """Close the file; further events raise. Safe to call twice."""
        fd, self._fd = self._fd, -1  # a late event must not land in whatever file gets this number next
        if fd >= 0:
            os.close(fd)
