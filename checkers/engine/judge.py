"""From summaries to ``Results``: the verdict tree of a run.

``examine`` runs every kernel over one shard, wherever the engine put it; ``conclude`` adds the
summaries up. A kernel that raises makes its row unknown and loud, never silent. A run without its
ended drain is never valid, at any depth (SEMANTICS 11).
"""

import time
import traceback
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.series import Series
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, FaultResult, Results, Steady, merged
from checkers.anomalies import headline
from checkers.anomalies.findings import Finding, Findings, added
from checkers.assumptions import Traffic, ended, named_counts, skipped_words
from checkers.cluster.campaign import failovers
from checkers.cluster.roles import NAME as ROLES
from checkers.cluster.roles import check_roles
from checkers.engine.registry import EVERY, KERNELS, SERIES, SERVICE, chosen
from checkers.history.kernel import Context, QueueShard
from checkers.history.timeline import FaultSpan
from checkers.log.loss import LossSummary
from checkers.log.replicas import ReplicaSummary
from checkers.recovery.rpo import RpoSummary, Toll
from checkers.recovery.rto import RtoKernel, RtoSummary
from checkers.recovery.service import ServiceSummary, availability, latencies, steady


class Broken(msgspec.Struct, frozen=True):
    """A kernel raised."""

    why: str


class Part(msgspec.Struct, frozen=True):
    """What every kernel made of some shards. ``took_s`` per kernel; the first to need the log pays for it."""

    summaries: dict[str, Any]
    took_s: dict[str, float]


class Judged(NamedTuple):
    """Everything that is written into the run folder."""

    results: Results
    series: Series


def _why(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename.rsplit('/', 1)[-1]}:{place.lineno})"


def examine(shard: QueueShard, context: Context, only: Collection[str] = ()) -> Part:
    """Run every kernel over one queue, or only those that are named. Pure; runs in an executor.

    Raises:
        HistoryError: the rows cannot be read, or were altered.
    """
    summaries: dict[str, Any] = {}
    took_s: dict[str, float] = {}
    for kernel in chosen(only):
        began = time.perf_counter()
        try:
            summaries[kernel.name] = kernel.examine(shard, context)
        except HistoryError:
            raise  # what is read when it is asked for cannot be read: the history is at fault, not the check
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises, its row says so
            summaries[kernel.name] = Broken(f"queue {shard.key}: {_why(error)}")
        took_s[kernel.name] = time.perf_counter() - began
    return Part(summaries, took_s)


def together(parts: Iterable[Part]) -> Part | None:
    """One part of several, in their order; None of none. No more than two are held at a time."""
    total: Part | None = None
    for part in parts:
        total = part if total is None else _added(total, part)
    return total


def _added(left: Part, right: Part) -> Part:
    summaries: dict[str, Any] = {}
    for kernel in EVERY:
        name = kernel.name
        if name not in left.summaries:
            continue
        one, other = left.summaries[name], right.summaries[name]
        broken = next((summary for summary in (one, other) if isinstance(summary, Broken)), None)
        try:
            summaries[name] = broken or kernel.merge(one, other)
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises, its row says so
            summaries[name] = Broken(_why(error))
    return Part(summaries, {name: took_s + right.took_s[name] for name, took_s in left.took_s.items()})


def _broken(name: str, why: str) -> CheckResult:
    return CheckResult(name=name, valid=UNKNOWN, found="the check broke", reason=f"the check {name} broke: {why}")


def _row(kernel: Any, summary: Any, context: Context) -> CheckResult | None:
    if isinstance(summary, Broken):
        return _broken(kernel.name, summary.why)
    try:
        row: CheckResult | None = kernel.conclude(summary, context)
    except Exception as error:  # noqa: BLE001 - whatever a kernel raises, its row says so
        return _broken(kernel.name, _why(error))
    return row


def _roles_row(context: Context) -> CheckResult:
    began = time.perf_counter()
    try:
        row = check_roles(context)
    except Exception as error:  # noqa: BLE001 - as for kernels
        return _broken(ROLES, _why(error))
    return msgspec.structs.replace(row, took_s=round(time.perf_counter() - began, 6))


def _fault(span: FaultSpan, summaries: dict[str, Any], steadied: dict[int, Steady], context: Context) -> FaultResult:
    rto, rpo = summaries["rto"], summaries["rpo"]
    times = rto if isinstance(rto, RtoSummary) else RtoSummary()
    toll = rpo.tolls.get(span.id) if isinstance(rpo, RpoSummary) else None
    return fault_result(span, times, toll, steadied.get(span.id), context)


def fault_result(
    span: FaultSpan, times: RtoSummary, toll: Toll | None, steadied: Steady | None, context: Context
) -> FaultResult:
    """The row of one fault: its life, what it stopped and what it cost."""
    injected = span.inject_ns is not None
    return msgspec.structs.replace(
        span.row(),
        rto=RtoKernel().of_fault(times, span.id, context) if injected else (),
        lost=toll.lost if toll is not None else 0,
        rpo_span_s=toll.span_s if toll is not None else None,
        not_ok=times.not_ok.get(span.id, 0),
        steady=steadied,
    )


def _grouped(rows: Sequence[CheckResult], summaries: dict[str, Any]) -> tuple[list[CheckResult], dict[str, Anomaly]]:
    """The rows with their anomalies marked as parts of stronger ones, and all anomalies, strongest first."""
    found: dict[str, Finding] = {}
    for summary in summaries.values():
        if isinstance(summary, Findings):
            found = added(found, summary.found)
    part_of = headline.parts(found)
    marked = [
        msgspec.structs.replace(
            row,
            anomalies={
                name: msgspec.structs.replace(one, part_of=part_of.get(name)) for name, one in row.anomalies.items()
            },
        )
        for row in rows
    ]
    every: dict[str, Anomaly] = {}
    for name, one in (item for row in marked for item in row.anomalies.items()):
        every[name] = headline.together(every[name], one) if name in every else one
    return marked, dict(sorted(every.items(), key=lambda item: headline.rank(item[0])))


def _not_ended(row: CheckResult, why: str) -> CheckResult:
    if row.valid is True:
        return msgspec.structs.replace(row, valid=UNKNOWN, reason=why)
    return row


def _sentence(results: Results, summaries: dict[str, Any], context: Context) -> str:
    if results.valid is not True:
        skipped = skipped_words(context) if context.timeline.injected() else ""  # without any fault a reason tells it
        return f"{_why_not_valid(results, summaries, context)}{f' {skipped}.' if skipped else ''}"
    loss = summaries["no-loss"]
    acked = loss.examined if isinstance(loss, LossSummary) else 0
    copies = summaries["replicas"]
    compared = bool(copies.examined) if isinstance(copies, ReplicaSummary) and copies.asked else None
    return headline.sentence_valid(acked, results.anomalies, compared, context)


def _why_not_valid(results: Results, summaries: dict[str, Any], context: Context) -> str:
    if results.valid == UNKNOWN:
        return headline.sentence_unknown(results.reason.split("; "), context)
    loss = summaries["no-loss"]
    clusters = loss.clusters if isinstance(loss, LossSummary) else ()
    return headline.sentence_invalid(results.anomalies, clusters, context)


def conclude(
    part: Part | None, context: Context, engine: str, engine_note: str = "", only: Collection[str] = ()
) -> Judged:
    """The verdict of a run from what the kernels made of all its queues, None if it has none.

    ``only``: the checks that are judged, by name, beside the assumptions; faults and figures are left out then.
    """
    summaries = {kernel.name: part.summaries.get(kernel.name) if part is not None else None for kernel in EVERY}
    rows = []
    judged = {kernel.name for kernel in chosen(only)}
    for kernel in KERNELS:
        if kernel.name == "rto" and (not only or ROLES in only):
            rows.append(_roles_row(context))
        if kernel.name not in judged:
            continue
        row = _row(kernel, summaries[kernel.name], context)
        took_s = part.took_s[kernel.name] if part is not None else 0.0
        if row is not None:
            rows.append(msgspec.structs.replace(row, took_s=round(took_s, 6)))
    why = ended(context)
    if why:
        rows = [_not_ended(row, why) for row in rows]
    rows, anomalies = _grouped(rows, summaries)
    told = (row.reason.split("; ") for row in rows if row.valid == UNKNOWN and row.reason)
    reasons = list(dict.fromkeys(reason for row in told for reason in row))
    traffic, service = summaries["assumptions"], summaries[SERVICE.name]
    served = service if isinstance(service, ServiceSummary) else None
    steadied = steady(served, context)
    results = Results(
        valid=merged(row.valid for row in rows),
        sentence="",
        reason="; ".join(reasons),
        model=context.run.workload,
        engine=engine,
        engine_note=engine_note,
        checks=tuple(rows),
        anomalies=anomalies,
        faults=() if only else tuple(_fault(span, summaries, steadied, context) for span in context.timeline.faults),
        counts=named_counts(traffic) if isinstance(traffic, Traffic) else {},
        interrupted=context.run.interrupted,
        availability=availability(served),
        latency=latencies(served, context),
        failovers=failovers(context),
    )
    curves = summaries[SERIES.name]
    series = SERIES.series(None if isinstance(curves, Broken) else curves, context)
    sentence = _sentence(results, summaries, context)
    if only:
        judged_rows, skipped = ", ".join(row.name for row in rows), skipped_words(context)
        sentence = (
            f"{sentence} Only this was judged: {judged_rows}."
            if results.valid is not True
            else f"Valid as far as it was judged: {judged_rows}.{f' {skipped}.' if skipped else ''}"
        )
    return Judged(msgspec.structs.replace(results, sentence=sentence), series)
