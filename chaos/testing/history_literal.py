"""A history as a literal: the words of the YAML files in ``tests/histories``.

docs/guide/write-a-history.md has the syntax. This module holds what is written down, with its defaults;
``chaos.testing.history_files`` makes run folders of it. Unknown words are errors.
"""

from typing import Literal

import msgspec

from chaos.core.verdict import Valid


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Literals refuse words they do not know: a misspelt expectation would pass for ever."""


class Range(_Strict, frozen=True, kw_only=True):
    """A read: where it began, what it returned ("0=0:1 1=0:2", "?" for a damaged body), where it ended."""

    begin: int | None = msgspec.field(default=None, name="from")
    got: str = ""
    next: int | None = None
    min: int | None = None
    max: int | None = None


class Sends(_Strict, frozen=True, kw_only=True):
    """A row of sends: ``count`` of them, one every ``every_s`` from ``start``."""

    start: float
    count: int
    every_s: float = 0.5
    took_s: float = 0.01
    late_s: float = 0.0
    first: int = 0
    offset: int | None = None
    outcome: Literal["ok", "fail", "info", "not-sent"] = "ok"


class OpLiteral(_Strict, frozen=True, kw_only=True):
    """One operation, or a row of them. ``at`` is [invoke] or [invoke, complete], in seconds.

    ``pop`` is what it returned, as in ``Range.got``, ``ack`` and ``extend`` the value they are about.
    ``deliver``: the second before which nobody may be given what a ``schedule`` sends.
    """

    at: tuple[float, ...] = ()
    send: str | None = None
    schedule: str | None = None
    deliver: float | None = None
    transact: str | None = None
    decides: Literal["commit", "rollback", "commit-when-asked", "rollback-when-asked", "never"] = "commit"
    poll: Range | None = None
    read: Range | None = None
    slave_read: Range | None = msgspec.field(default=None, name="slave-read")
    drain: Range | None = None
    commit: int | None = None
    committed_read: int | Literal["none"] | None = msgspec.field(default=None, name="committed-read")
    pop: str | None = None
    ack: str | None = None
    extend: str | None = None
    invisible_s: float = 10.0
    sends: Sends | None = None
    to: int = 0
    p: int | None = None
    w: int = 0
    writer: int = 0
    client: int = 0
    pinned: bool = False
    due: float | None = None
    ok: int | None = None
    hint: int | None = None
    fail: str | None = None
    info: str | None = None
    not_sent: bool = False
    node: str | None = "b1"


class FaultLiteral(_Strict, frozen=True, kw_only=True):
    """One fault: times of its stages; a stage without a time did not happen.

    ``retry``: the heal before it is not proven, and a second one, at this time, is. ``lasted``: a last look just before
    the heal saw the fault in force; false: there was no last look. ``heals``: false: it was left in force on purpose
    until the final reads were over.
    """

    id: int = 1
    name: str = "leader-partition"
    targets: tuple[str, ...] = ("b1",)
    inject: float | None = None
    active: float | None = None
    heal: float | None = None
    healed: float | None = None
    retry: float | None = None
    skipped: float | None = None
    proven: bool = True
    lasted: bool = True
    mended: bool = True
    heals: bool = True
    failed: dict[str, str] = {}
    """Of a heal that is not proven: node → ``ended``, ``silent``, or why the harness could not heal it."""


class Reign(_Strict, frozen=True, kw_only=True):
    """A node that said each second that it leads ``of``. ``end`` None: to the end of the run.

    ``decided``: the epoch in which controllers said that they had made it master; None: they said nothing of it.
    """

    node: str
    epoch: int
    of: str = "brokers"
    decided: int | None = None
    start: float = 0.0
    end: float | None = None


class InSyncLiteral(_Strict, frozen=True, kw_only=True):
    """What a node said each second of a master's SyncStateSet in group ``of``. ``end`` None: to the end of the run."""

    says: str
    master: str
    of: str = "brokers"
    members: tuple[str, ...]
    number: int
    start: float = 0.0
    end: float | None = None


class EndedLiteral(_Strict, frozen=True, kw_only=True):
    """A process that the harness found ended by itself. ``excuse``: why that may not be the system's doing."""

    node: str
    at: float
    last_line: str = "out of luck"
    excuse: str = ""


class AnswersLiteral(_Strict, frozen=True, kw_only=True):
    """A node that the observer asks each second. ``never`` are stretches [from, to] over which it does not answer."""

    node: str
    never: tuple[tuple[float, float], ...] = ()


class LookLiteral(_Strict, frozen=True, kw_only=True):
    """The harness' look at all nodes at the end of the recovery, as in ``chaos.core.node_notes.Look``.

    ``since``: the beginning of the recovery, from which the nodes' waits were measured.
    """

    at: float
    since: float = 0.0
    dead: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    waited: dict[str, float] = {}


class DrainLiteral(_Strict, frozen=True, kw_only=True):
    """How the final reads differ from good ones. Contents are per queue, as in ``Range.got``.

    ``replicas``: what replicas hold of their own, by node and queue, for queues that are not named the known content;
    null for copies that were asked for and not had; ``replicas_failed``: why the reads of a node's copies ended badly,
    which gave the content named until then. Where there is a consumer group each pass ends with a
    committed-read: ``committed`` is its answer (by default what was committed last), None for none; queues in
    ``skip_committed`` have none. Where messages are popped a pop of each queue comes back empty ``pops_end_s`` after
    the last operation and before the final reads; None: none does.
    """

    ended: bool = True
    passes: int = 2
    gap_s: float = 6.0
    wait_s: float = 8.0
    final: dict[int, str] = {}
    first: dict[int, str] = {}
    min: dict[int, int] = {}
    max: dict[int, int] = {}
    next: dict[int, int] = {}
    skip: tuple[int, ...] = ()
    pops_end_s: float | None = 20.0
    committed: dict[int, int | None] = {}
    skip_committed: tuple[int, ...] = ()
    node: str = "b1"
    sync_changes: bool = False
    observed: bool = True
    replicas: dict[str, dict[int, str] | None] = {}
    replicas_failed: dict[str, str] = {}


class RunLiteral(_Strict, frozen=True, kw_only=True):
    """What differs from the settings of the literal's run."""

    keys: int = 1
    rate: float = 2.0
    mix: dict[str, float] = {}
    promises: dict[str, str] = {}
    readable_after_s: float = 0.0
    min_in_sync: int = 0
    redelivered_within_s: float = 2.0
    workload: str = "queue"
    early_s: float = 0.0
    twice: tuple[str, ...] = ()
    replicas_read: bool = False
    progress_margin_s: float = 0.0
    recovers_within_s: float = 0.0
    rejoins_within_s: float = 0.0
    fails_over_after_s: float = 0.0
    serves_without_minority_s: float = 0.0
    quiet: tuple[tuple[float, float], ...] = ()
    send_deadline_s: float = 0.0
    planned_faults: int | None = None
    rto_budget_s: float | None = None
    refusals: tuple[str, ...] = ()
    interrupted: bool = False
    workers: int | None = None
    subjects: dict[str, tuple[int, ...] | None] | None = {}
    """Replica groups over the same three brokers, each with its queues; {}: one of all queues; None: no leaders."""


class Expected(_Strict, frozen=True, kw_only=True):
    """The verdict. ``anomalies`` is complete; ``sentence``, ``reason`` and ``found`` (of rows) are parts."""

    valid: Valid
    anomalies: dict[str, int] = {}
    allowed: tuple[str, ...] = ()
    part_of: dict[str, str | None] = {}
    sentence: str = ""
    look_at: tuple[str, ...] | None = None
    """The nodes that the headline names first; None: not compared."""
    blames: int | None = None
    """The number of the fault that the headline names; None: not compared."""
    reason: str = ""
    found: dict[str, str] = {}
    rto_s: dict[int, dict[str, float | str | None]] = {}
    lost: dict[int, int] = {}
    rpo_span_s: dict[int, float] = {}


class HistoryLiteral(_Strict, frozen=True, kw_only=True):
    """A whole history with its verdict."""

    name: str
    rules: tuple[int, ...]
    about: str
    ops: tuple[OpLiteral, ...]
    expect: Expected
    run: RunLiteral = RunLiteral()
    faults: tuple[FaultLiteral, ...] = ()
    masters: tuple[Reign, ...] = (Reign(node="b1", epoch=1),)
    controllers: tuple[Reign, ...] = (Reign(node="c1", epoch=1),)
    in_sync: tuple[InSyncLiteral, ...] = ()
    clocks: dict[str, tuple[tuple[float, float], ...]] = {}
    """Node → how far its wall clock was ahead of the control host's, and the error, in seconds, each time."""
    drain: DrainLiteral | None = DrainLiteral()
    ended: tuple[EndedLiteral, ...] = ()
    answers: tuple[AnswersLiteral, ...] = ()
    looks: tuple[LookLiteral, ...] = ()
    observer_ended: float | None = None
    """When the process that asks nodes who leads was found to have ended by itself."""
    torn_workers: tuple[int, ...] = ()
    """Workers whose stream has no end record, as after kill -9."""
