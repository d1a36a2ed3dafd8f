"""Figures of an imported history: what its operations became, how available the service was, and what faults cost.

The same measures as of our own runs, by the same functions (``service``, ``rto``, ``rpo``), from the times in the file.
They decide nothing. Does not make up what a history does not say: such a figure is absent, with the reason.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final, NamedTuple

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import Availability, CheckResult, FaultResult, KindResult, Latency, Rto
from chaos.formats.records import Event
from chaos.storage.history import NEVER_NS
from checkers.engine.judge import fault_result
from checkers.history.check_input import Context
from checkers.history.columns import Ints
from checkers.history.timeline import Timeline
from checkers.imported.empty_run import empty_run_info
from checkers.imported.faults import Faults, faults_of
from checkers.imported.load import EVERYWHERE, Doings, Given, Load
from checkers.recovery.histogram import BUCKETS, bucket_of, quantile
from checkers.recovery.rpo import RpoKernel, RpoSummary, tolls_of
from checkers.recovery.rto import Attempts, RtoSummary, keep_later, keep_longer, not_ok_under, outages_by_fault
from checkers.recovery.service import Sent, ServiceKernel, ServiceSummary, availability, latencies, steady, summary_of

SENDS: Final = frozenset({"send", "txn", "enqueue", "append", "add", "write", "put", "generate"})
"""Kinds that give the service something to keep; one that failed was not served."""
READS: Final = frozenset({"poll", "read", "get", "getAll", "range"})
"""Kinds that only ask; one that failed was not served either. Any other kind may fail because it was served: a
compare-and-set that does not match, a dequeue that finds nothing, a lock that is held."""

TELLING: Final = SENDS | READS

_QUANTILES: Final = (0.5, 0.9, 0.95, 0.99)
NO_TIMES: Final = "the history has no times"
NO_FAULTS: Final = "the history tells of no faults"


class Losses(NamedTuple):
    """Acknowledged messages that were lost: when each was acknowledged, and when the first read that proves it ended.

    Ns.
    """

    acked: Ints
    proof: Ints


class Figures(NamedTuple):
    """What is told beside a verdict; the fields are those of ``Results``, and ``rpo`` is a row of its checks."""

    kinds: tuple[KindResult, ...] = ()
    availability: tuple[Availability, ...] = ()
    latency: tuple[Latency, ...] = ()
    faults: tuple[FaultResult, ...] = ()
    rpo: CheckResult | None = None
    absent: Mapping[str, str] = {}
    origin_ns: int | None = None


def _span(load: Load, faults: Faults) -> tuple[int, int]:
    """The first and the last instant of a history, ns."""
    times = [column[column != NEVER_NS] for one in load.kinds for column in (one.begun, one.ended)]
    stages = [
        time
        for span in faults.spans
        for time in (span.inject_ns, span.active_ns, span.heal_ns, span.healed_ns)
        if time is not None
    ]
    every = np.concatenate((*times, np.array(stages, dtype=np.int64))) if times else np.zeros(1, dtype=np.int64)
    return (int(every.min()), int(every.max())) if len(every) else (0, 0)


def _kind(one: Doings, seconds: float, *, timed: bool) -> KindResult:
    ok = one.type == Type.OK
    told = KindResult(
        f=one.f, ok=int(ok.sum()), fail=int((one.type == Type.FAIL).sum()), info=int((one.type == Type.INFO).sum())
    )
    if not timed:
        return told
    both = ok & (one.begun != NEVER_NS) & (one.ended != NEVER_NS)
    rate = round(told.ok / seconds, 6) if seconds > 0 else None
    if not both.any():
        return KindResult(f=told.f, ok=told.ok, fail=told.fail, info=told.info, ok_per_s=rate)
    latency_ms = (one.ended[both] - one.begun[both]) / 1e6
    histogram = np.bincount(bucket_of(latency_ms), minlength=BUCKETS).reshape(1, BUCKETS)
    slowest = np.array([latency_ms.max()])
    (p50,), (p90,), (p95,), (p99,) = (quantile(histogram, q, slowest) for q in _QUANTILES)
    return KindResult(
        f=told.f,
        ok=told.ok,
        fail=told.fail,
        info=told.info,
        ok_per_s=rate,
        p50_ms=p50,
        p90_ms=p90,
        p95_ms=p95,
        p99_ms=p99,
        max_ms=round(float(slowest[0]), 3),
    )


def _recorded(one: Doings) -> Doings:
    """Without what nobody asked for, or when."""
    asked = one.begun != NEVER_NS
    return one if asked.all() else Doings(one.f, one.key, one.type[asked], one.begun[asked], one.ended[asked])


def _sent(parts: Sequence[Doings]) -> Sent:
    """Sends of one queue in order of invocation, whatever their kind."""
    begun, ended, kind = (np.concatenate([part[i] for part in parts]) for i in (3, 4, 2))
    order = np.argsort(begun, kind="stable")
    ok = (kind == Type.OK)[order]
    return Sent(np.arange(len(order)), begun[order], ok, np.sort(ended[order][ok]))


def _served(parts: Sequence[Doings], given: Sequence[Given], context: Context) -> ServiceSummary | None:
    """What the kernel of our own runs makes of a shard, for all queues together."""
    sends = [part for part in parts if part.f in SENDS and len(part.begun)]
    if not sends:
        return None
    nobody = np.empty(0, dtype=np.int64)
    ways = {one.key: one for one in given}
    summaries = []
    for key in sorted({part.key for part in sends}):
        way = ways.get(key, Given(key, nobody, nobody))
        sent = _sent([part for part in sends if part.key == key])
        summaries.append(summary_of(key, sent, way.sent, way.first, context))
    return reduce(ServiceKernel().merge, summaries)


def _recoveries(parts: Sequence[Doings], context: Context) -> RtoSummary:
    """Outages of each kind that tells by failing that it was not served."""
    longest: dict[tuple[int, str, int], Rto] = {}
    later: dict[tuple[int, str], Rto] = {}
    told = [part for part in parts if part.f in TELLING and len(part.begun)]
    for part in told:
        attempts = Attempts(part.f, part.key, part.begun, part.ended, part.type == Type.OK)
        for fault, rto, _, _ in outages_by_fault(attempts, context):
            key = fault.id, part.f, part.key
            keep_longer(longest, key, rto)
            keep_later(later, fault, rto)
    bad = [part.begun[part.type != Type.OK] for part in told]
    return RtoSummary(
        longest=longest,
        later=later,
        lag_ns={part.f: 0 for part in told},
        not_ok=not_ok_under(np.sort(np.concatenate(bad)), context) if bad else {},
        operations=sum(len(part.begun) for part in told),
    )


def _context(load: Load, faults: Faults, seconds: float, span: tuple[int, int]) -> Context:
    kinds = {one.f: len(one.begun) for one in load.kinds}
    every = sum(kinds.values())
    queues = len({part.key for part in load.parts if part.key != EVERYWHERE})
    rate = every / seconds if seconds > 0 else 0.0
    by_queue = {part.f for part in load.parts if part.key != EVERYWHERE}
    shares = {f: count / every * (1 if f in by_queue else max(1, queues)) for f, count in kinds.items() if count}
    run = empty_run_info(queues, rate=rate, mix=shares)  # a kind that knows of no queues has its whole rate on each
    timeline = Timeline(
        origin_ns=span[0],
        end_ns=span[1],
        final_phases_ended=False,
        faults=faults.spans,
        reigns=(),
        statements={},
        words={},
        in_sync=(),
        loaded=True,
        observed=0,
    )
    return Context(run=run, streams=(), timeline=timeline)


def _absent(load: Load, faults: Faults, untold: str) -> dict[str, str]:
    """The figures that cannot be told though there are times, with the reason of each."""
    absent = {
        f"rto of {one.f}": f"a {one.f} that failed may have been served" for one in load.kinds if one.f not in TELLING
    }
    if not faults.spans:
        absent |= dict.fromkeys(("rto", "rpo", "steady"), NO_FAULTS)
    if faults.unknown:
        absent["faults"] = f"it is not known what these acts of the nemesis begin or end: {', '.join(faults.unknown)}"
    if untold:
        absent["rpo"] = untold
    if load.given is None:
        absent["latency"] = "the model has no consumers"
    if not any(part.f in SENDS for part in load.parts):
        absent["availability"] = absent["steady"] = "no operation tells by failing that it was not served"
    return absent


def _acknowledged(parts: Sequence[Doings]) -> int:
    return sum(int((part.type == Type.OK).sum()) for part in parts if part.f in SENDS)


def figures(load: Load, events: Sequence[Event], losses: Losses | None, *, untold: str = "") -> Figures:
    """The figures of a history.

    Args:
        load: its operations.
        events: the records that no client made.
        losses: what was lost, None where nobody can say when.
        untold: why losses cannot be told.
    """
    faults = faults_of(events)
    begun, ended = span = _span(load, faults)
    seconds = (ended - begun) / NS_PER_S
    if load.untimed or not load.kinds:
        every = sum(len(one.begun) for one in load.kinds)
        why = "there are no operations" if not load.kinds else NO_TIMES
        if load.untimed < every:
            why = f"{load.untimed} of {every} operations have no time" if load.kinds else why
        kinds = tuple(_kind(one, 0.0, timed=False) for one in load.kinds)
        names = ("throughput", "availability", "latency", "rto", "rpo", "steady")
        return Figures(kinds=kinds, absent=dict.fromkeys(names, why))
    parts = [_recorded(part) for part in load.parts]
    context = _context(load, faults, seconds, span)
    served = _served(parts, load.given or (), context)
    times = _recoveries(parts, context)
    tolls = {} if losses is None else tolls_of(losses.proof, losses.acked, context)
    steadied = steady(served, context)
    absent = _absent(load, faults, "" if losses is not None else untold)
    return Figures(
        kinds=tuple(_kind(one, seconds, timed=True) for one in load.kinds),
        availability=availability(served),
        latency=latencies(served, context) if load.given is not None else (),
        faults=tuple(
            fault_result(span, times, tolls.get(span.id), steadied.get(span.id), context) for span in faults.spans
        ),
        rpo=None if "rpo" in absent else RpoKernel().conclude(RpoSummary(tolls, _acknowledged(parts)), context),
        absent=absent,
        origin_ns=begun,
    )
