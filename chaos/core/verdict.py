"""Three answers, with a reason: the shape of ``results.json``.

``valid`` is true, false or "unknown". False beats unknown beats true. An unknown always says why. Does not find
anything; it only says how findings are written down and combined.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from chaos.core.fault_nature import Colour, Identity, identity_of
from chaos.core.gate import GateResult, ThresholdResult

Valid = bool | Literal["unknown"]
UNKNOWN: Final = "unknown"

EXIT_CODES: Final = {True: 0, False: 1, UNKNOWN: 2}
INTERRUPTED: Final = 130


def exit_code(valid: Valid, *, interrupted: bool = False, broke: int | None = None) -> int:
    """SEMANTICS 11: an anomaly beats what broke the run, which beats the interrupt, which beats everything else.

    ``broke``: the exit code of what broke it.
    """
    code = EXIT_CODES[valid]
    if valid is False:
        return code
    return broke or (INTERRUPTED if interrupted else code)


def worst_of(answers: Iterable[Valid]) -> Valid:
    """The worst of the answers; true for none."""
    seen = list(answers)
    if any(answer is False for answer in seen):
        return False
    return UNKNOWN if any(answer == UNKNOWN for answer in seen) else True


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """Why one operation of a circle comes before the next.

    ``before`` and ``after`` are their numbers in the history. ``kind``: the dependency's name (ww, wr, rw, process,
    realtime). ``reason``: a clause.
    """

    before: int
    after: int
    kind: str
    reason: str


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence of an anomaly.

    ``sentence`` is in the words of a broker engineer. ``ops`` are the rows that show it, each a
    dict with the columns of ``operations`` in words (f, type, node names, value "w:s", times in
    seconds since the load began), the guilty ones first. ``node``: who answered wrongly, acknowledged or
    led, at ``at_ns`` (CLOCK_MONOTONIC). ``fault``: the number of the fault that the sentence names.
    ``expected``: what should have happened here; empty: what is expected of every occurrence of the anomaly.
    ``excused``: a promise covers this occurrence, if the system makes it. ``circle``: operations that all come before
    each other, an edge for each. ``order``: where an object's answers have no order, the numbers of ``ops`` in one that
    explains all of them but the first.
    """

    sentence: str
    key: int | None = None
    offset: int | None = None
    last_offset: int | None = None
    value: str | None = None
    node: str | None = None
    at_ns: int | None = None
    fault: int | None = None
    expected: str = ""
    excused: bool = False
    ops: tuple[dict[str, Any], ...] = ()
    circle: tuple[Edge, ...] = ()
    order: tuple[int, ...] = ()


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """All occurrences of one kind. ``allowed`` ones do not make the history invalid.

    ``part_of`` names the headline anomaly that has the same cause (SEMANTICS 9), if there is one. ``spread``: how many
    each node answered, when the first and the last were, and how many before any fault, in words; empty if not counted.
    """

    count: int
    allowed: bool
    examples: tuple[Example, ...] = ()
    part_of: str | None = None
    spread: str = ""


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    """What the sentence of a run with errors tells first: an anomaly, by its first example.

    ``nodes``: whom it names first. ``fault``: the number of the fault that it names. ``expected``: what should have
    happened; empty: what is expected of every occurrence of the anomaly.
    """

    anomaly: str
    nodes: tuple[str, ...] = ()
    fault: int | None = None
    expected: str = ""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the verdict table.

    ``found``: one line. ``reason``: why unknown, else empty. ``examined``: a count with its noun.
    """

    name: str
    valid: Valid
    found: str
    examined: str = ""
    took_s: float = 0.0
    reason: str = ""
    anomalies: dict[str, Anomaly] = {}


class Rto(msgspec.Struct, frozen=True, kw_only=True):
    """Recovery of one kind of operation from one fault.

    ``seconds``: the longest outage; None means there was none; ``recovered`` false means it did
    not end. ``key``: the queue it was measured on, -1 over all queues. ``when``: relative to the heal.
    ``start_ns``: when the outage began (CLOCK_MONOTONIC). ``node``: who answered when it ended, empty if nobody.
    ``ok``: how many operations in it were ok, never three in a row.
    """

    f: str
    seconds: float | None
    recovered: bool = True
    key: int = -1
    when: Literal["before-heal", "after-heal", ""] = ""
    resolution_s: float = 0.0
    lagged: bool = False
    start_ns: int | None = None
    node: str = ""
    ok: int = 0


class Steady(msgspec.Struct, frozen=True, kw_only=True):
    """Whether acknowledgements came as fast again as before all faults, and how long after the heal began (s)."""

    reached: bool
    seconds: float | None


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the time sends were served. ``key``: the queue, -1 over all of them.

    ``share`` of the ``seconds`` in which a send was due in which one was acknowledged, None if none was due.
    ``silence_s``: the longest time from a send that was due to the next acknowledgement; ``silence_ns``: when it
    began (CLOCK_MONOTONIC).
    """

    key: int
    share: float | None
    seconds: int
    silence_s: float
    silence_ns: int


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """From the invocation of an acknowledged send to the first answer that gave the message to a consumer.

    ``fault``: of messages sent while it was in force, None: of those sent in healthy time. ``unread``: messages that
    no consumer was given during the load. Milliseconds; None where no message was given.
    """

    fault: int | None
    messages: int
    unread: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    max_ms: float | None


class Failover(msgspec.Struct, frozen=True, kw_only=True):
    """A change of leadership: who was first heard, at ``at_ns`` (CLOCK_MONOTONIC), to lead in a later epoch.

    ``subject``: what it leads; empty where an older chaos judged.
    """

    node: str
    epoch: int
    at_ns: int
    subject: str = ""


class KindResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the operations of one kind, of a run of those of its load.

    ``fail``: of a run also those that were due and never left. ``ok_per_s``: the ok ones by the time from the first
    invocation to the last end of any operation. Milliseconds are of ok operations, from the instant at which they were
    due, of an imported history from invocation, to completion. None where it cannot be told.
    """

    f: str
    ok: int
    fail: int
    info: int
    ok_per_s: float | None = None
    p50_ms: float | None = None
    p90_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None


class FaultResult(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the fault table. Times are CLOCK_MONOTONIC ns; None: that stage was not reached.

    ``steady``: when throughput was as before, None where it cannot be told. ``identity``: which fault it is, None in
    older results. ``later``: of each kind of operation the longest outage that began after the heal, if it is not
    the longest of all, which ``rto`` has.
    """

    id: int
    name: str
    targets: tuple[str, ...]
    description: str
    proven: bool
    healed: bool
    skipped: bool
    inject_ns: int | None
    active_ns: int | None
    heal_ns: int | None
    healed_ns: int | None
    evidence: str = ""
    heal_evidence: str = ""
    note: str = ""
    rto: tuple[Rto, ...] = ()
    later: tuple[Rto, ...] = ()
    lost: int = 0
    rpo_span_s: float | None = None
    not_ok: int = 0
    steady: Steady | None = None
    identity: Identity | None = None

    @property
    def colour(self) -> Colour:
        """How reports draw it."""
        return identity_of(self.identity, self.name).nature.colour


class ErrorResult(msgspec.Struct, frozen=True, kw_only=True):
    """One error of one node under one fault (None: under none), as often as it was met.

    ``by_design``: it refused clients that stay on a node which must not serve (SEMANTICS 18, i). ``type``: fail or
    info. Times are CLOCK_MONOTONIC ns of invocations. ``node`` is empty where nobody answered.
    """

    error: str
    type: str
    node: str
    fault: int | None
    count: int
    first_ns: int
    last_ns: int
    by_design: bool = False


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict tree, as written to ``results.json``.

    ``headline``: None without errors, and where an older chaos judged.
    ``declined``: the checks that had nothing to say of this run, and why.
    ``thresholds``: what became of each (SEMANTICS 27). ``gate``: what the exit code says where somebody decided it by
    ``fail-on`` or an allowed finding (SEMANTICS 28); None: it is the verdict's.
    ``ruled_out``: of transactions, the consistency models that cannot hold: ``not`` the weakest, ``also-not`` others.
    ``absent``, ``origin_ns``: of imported histories; ``absent`` says why a figure is not told, by its name, and
    ``origin_ns`` is the first instant of the file.
    """

    valid: Valid
    sentence: str
    reason: str
    model: str
    engine: str
    engine_note: str = ""
    headline: Headline | None = None
    checks: tuple[CheckResult, ...] = ()
    declined: dict[str, str] = {}
    anomalies: dict[str, Anomaly] = {}
    ruled_out: dict[str, tuple[str, ...]] = {}
    faults: tuple[FaultResult, ...] = ()
    counts: dict[str, int] = {}
    availability: tuple[Availability, ...] = ()
    latency: tuple[Latency, ...] = ()
    errors: tuple[ErrorResult, ...] = ()
    kinds: tuple[KindResult, ...] = ()
    absent: dict[str, str] = {}
    origin_ns: int | None = None
    failovers: tuple[Failover, ...] = ()
    interrupted: bool = False
    thresholds: tuple[ThresholdResult, ...] = ()
    gate: GateResult | None = None
    schema_version: int = 1

    @property
    def answer(self) -> Valid:
        """What the exit code says."""
        return self.valid if self.gate is None else self.gate.valid
