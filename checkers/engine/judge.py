"""From summaries to ``Results``: the verdict tree of a run.

``examine`` runs every check over one shard, wherever the engine put it; ``conclude`` adds the
summaries up. A check that raises makes its row unknown and loud, never silent. A run without its
ended drain is never valid, at any depth (SEMANTICS 11).
"""

import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.series import Series
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, FaultResult, Headline, Results, Steady, worst_of
from checkers.anomalies.catalogue import rank
from checkers.anomalies.findings import Finding, Findings, add_findings, combine_anomalies
from checkers.assumptions import Traffic, named_counts, skipped_words, why_unfinished
from checkers.cluster.faults_and_failovers import failovers
from checkers.engine import headline
from checkers.engine.installed_checks import Panel
from checkers.history.check import Check, Examiner, HasHeadline, Held, Telling, TellsWhatHeld
from checkers.history.check_input import Context, QueueShard
from checkers.history.timeline import FaultSpan
from checkers.history.words import words_of
from checkers.recovery.errors_by_node import ErrorsKernel
from checkers.recovery.operation_kinds import KindsKernel, KindsSummary, kind_results
from checkers.recovery.rpo import FaultLoss, RpoSummary
from checkers.recovery.rto import RtoKernel, RtoSummary
from checkers.recovery.series import SeriesKernel
from checkers.recovery.service import ServiceKernel, ServiceSummary, availability, latencies, steady

NOTHING: Final = "nothing that it judges was recorded"


class Broken(msgspec.Struct, frozen=True):
    """A check raised."""

    why: str


class Part(msgspec.Struct, frozen=True):
    """What every check made of some shards. ``took_s`` per check; the first to need the log pays for it."""

    summaries: dict[str, Any]
    took_s: dict[str, float]


class Judged(NamedTuple):
    """Everything that is written into the run folder."""

    results: Results
    series: Series


def _why(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.filename.rsplit('/', 1)[-1]}:{place.lineno})"


def examine(shard: QueueShard, context: Context, examiners: Iterable[Examiner[Any]]) -> Part:
    """Run the checks and figures over one queue. Pure; runs in an executor.

    Raises:
        HistoryError: the rows cannot be read, or were altered.
    """
    summaries: dict[str, Any] = {}
    took_s: dict[str, float] = {}
    for one in examiners:
        began = time.perf_counter()
        try:
            summaries[one.name] = one.examine(shard, context)
        except HistoryError:
            raise  # what is read when it is asked for cannot be read: the history is at fault, not the check
        except Exception as error:  # noqa: BLE001 - whatever a check raises, its row says so
            summaries[one.name] = Broken(f"{words_of(context.run).key} {shard.key}: {_why(error)}")
        took_s[one.name] = time.perf_counter() - began
    return Part(summaries, took_s)


def merge_parts(parts: Iterable[Part], examiners: Sequence[Examiner[Any]]) -> Part | None:
    """One part of several, in their order; None of none. No more than two are held at a time."""
    total: Part | None = None
    for part in parts:
        total = part if total is None else _added(total, part, examiners)
    return total


def _added(left: Part, right: Part, examiners: Sequence[Examiner[Any]]) -> Part:
    summaries: dict[str, Any] = {}
    for examiner in examiners:
        name = examiner.name
        one, other = left.summaries[name], right.summaries[name]
        broken = next((summary for summary in (one, other) if isinstance(summary, Broken)), None)
        try:
            summaries[name] = broken or examiner.merge(one, other)
        except Exception as error:  # noqa: BLE001 - whatever a check raises, its row says so
            summaries[name] = Broken(_why(error))
    return Part(summaries, {name: took_s + right.took_s[name] for name, took_s in left.took_s.items()})


def _broken(name: str, why: str) -> CheckResult:
    return CheckResult(name=name, valid=UNKNOWN, found="the check broke", reason=f"the check {name} broke: {why}")


def _row(check: Check[Any], part: Part | None, context: Context) -> CheckResult | None:
    """The row of a check, with the seconds that all of it took; None if nothing to judge was recorded."""
    summary = part.summaries.get(check.name) if part is not None else None
    took_s = part.took_s.get(check.name, 0.0) if part is not None else 0.0
    began = time.perf_counter()
    try:
        if isinstance(summary, Broken):
            row: CheckResult | None = _broken(check.name, summary.why)
        else:
            row = check.conclude(summary, context)
    except Exception as error:  # noqa: BLE001 - whatever a check raises, its row says so
        row = _broken(check.name, _why(error))
    took_s += time.perf_counter() - began
    return None if row is None else msgspec.structs.replace(row, took_s=round(took_s, 6))


def _fault(
    span: FaultSpan, summaries: Mapping[str, Any], steadied: Mapping[int, Steady], context: Context
) -> FaultResult:
    rto, rpo = summaries.get("rto"), summaries.get("rpo")
    times = rto if isinstance(rto, RtoSummary) else RtoSummary()
    toll = rpo.tolls.get(span.id) if isinstance(rpo, RpoSummary) else None
    return fault_result(span, times, toll, steadied.get(span.id), context)


def fault_result(
    span: FaultSpan, times: RtoSummary, toll: FaultLoss | None, steadied: Steady | None, context: Context
) -> FaultResult:
    """The row of one fault: its life, what it stopped and what it cost."""
    injected = span.inject_ns is not None
    return msgspec.structs.replace(
        span.row(),
        rto=RtoKernel().of_fault(times, span.id, context) if injected else (),
        later=RtoKernel().later_outages(times, span.id),
        lost=toll.lost if toll is not None else 0,
        rpo_span_s=toll.span_s if toll is not None else None,
        not_ok=times.not_ok.get(span.id, 0),
        steady=steadied,
    )


def _grouped(rows: Sequence[CheckResult], summaries: Mapping[str, Any]) -> tuple[list[CheckResult], dict[str, Anomaly]]:
    """The rows with their anomalies marked as parts of stronger ones, and all anomalies, strongest first."""
    found: dict[str, Finding] = {}
    for summary in summaries.values():
        if isinstance(summary, Findings):
            found = add_findings(found, summary.found)
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
    every = combine_anomalies(row.anomalies for row in marked)
    return marked, dict(sorted(every.items(), key=lambda item: rank(item[0])))


def _not_ended(row: CheckResult, why: str) -> CheckResult:
    if row.valid is True:
        return msgspec.structs.replace(row, valid=UNKNOWN, reason=why)
    return row


def _sentence(
    results: Results, panel: Panel, summaries: Mapping[str, Any], context: Context
) -> tuple[str, Headline | None]:
    """The first sentence, and which anomaly it tells."""
    if results.valid is True:
        held = _held(panel, summaries, results.anomalies, context)
        return headline.sentence_valid(held, results.anomalies, context), None
    tells: Headline | None = None
    if results.valid == UNKNOWN:
        text = headline.sentence_unknown(results.reason.split("; "), context)
    else:
        text, tells = headline.sentence_invalid(results.anomalies, _told(panel, summaries, context), context)
    skipped = skipped_words(context) if context.timeline.injected() else ""  # without any fault a reason tells it
    return f"{text}{f' {skipped}.' if skipped else ''}", tells


def _held(panel: Panel, summaries: Mapping[str, Any], anomalies: dict[str, Anomaly], context: Context) -> list[Held]:
    """What the checks say of a valid run."""
    return [
        check.held(summaries.get(check.name), anomalies, context)
        for check in panel.checks
        if isinstance(check, TellsWhatHeld)
    ]


def _told(panel: Panel, summaries: Mapping[str, Any], context: Context) -> headline.Teller:
    """How an anomaly is told by the check that has more words for it."""

    def told(name: str, count: int) -> Telling | None:
        for check in panel.checks:
            summary = summaries.get(check.name)
            if isinstance(check, HasHeadline) and not isinstance(summary, Broken):
                telling = check.headline(name, summary, count, context)
                if telling is not None:
                    return telling
        return None

    return told


def _partly(results: Results, sentence: str, context: Context) -> str:
    """The sentence where only some checks were asked for."""
    judged, skipped = ", ".join(row.name for row in results.checks), skipped_words(context)
    if results.valid is not True:
        return f"{sentence} Only this was judged: {judged}."
    return f"Valid as far as it was judged: {judged}.{f' {skipped}.' if skipped else ''}"


def _rows(panel: Panel, part: Part | None, context: Context) -> tuple[list[CheckResult], dict[str, str]]:
    """The verdict table, and why checks are not in it."""
    rows, declined = [], dict(panel.declined)
    for check in panel.checks:
        row = _row(check, part, context)
        if row is None:
            declined[check.name] = NOTHING
        else:
            rows.append(row)
    return rows, declined


def conclude(part: Part | None, context: Context, panel: Panel, engine: str, engine_note: str = "") -> Judged:
    """The verdict of a run from what its panel made of all its queues, None if it has none.

    Of a panel that is partial faults and figures are left out.
    """
    summaries: Mapping[str, Any] = part.summaries if part is not None else {}
    rows, declined = _rows(panel, part, context)
    why = why_unfinished(context)
    if why:
        rows = [_not_ended(row, why) for row in rows]
    rows, anomalies = _grouped(rows, summaries)
    reasons = list(dict.fromkeys(one for row in rows if row.valid == UNKNOWN for one in row.reason.split("; ") if one))
    results = _measured(
        Results(
            valid=worst_of(row.valid for row in rows),
            sentence="",
            reason="; ".join(reasons),
            model=context.run.workload,
            engine=engine,
            engine_note=engine_note,
            checks=tuple(rows),
            declined=declined,
            anomalies=anomalies,
            interrupted=context.run.interrupted,
            failovers=failovers(context),
        ),
        panel,
        summaries,
        context,
    )
    sentence, tells = _sentence(results, panel, summaries, context)
    if panel.partial:
        sentence = _partly(results, sentence, context)
    curves = summaries.get(SeriesKernel.name)
    series = SeriesKernel().series(None if isinstance(curves, Broken) else curves, context)
    return Judged(msgspec.structs.replace(results, sentence=sentence, headline=tells), series)


def _measured(results: Results, panel: Panel, summaries: Mapping[str, Any], context: Context) -> Results:
    """The verdict with what was measured beside it."""
    traffic, service = summaries.get("assumptions"), summaries.get(ServiceKernel.name)
    served = service if isinstance(service, ServiceSummary) else None
    met = summaries.get(ErrorsKernel.name)
    kinds = summaries.get(KindsKernel.name)
    steadied = steady(served, context)
    spans = () if panel.partial else context.timeline.faults
    return msgspec.structs.replace(
        results,
        faults=tuple(_fault(span, summaries, steadied, context) for span in spans),
        counts=named_counts(traffic, context) if isinstance(traffic, Traffic) else {},
        availability=availability(served),
        latency=latencies(served, context),
        errors=ErrorsKernel().rows(met, context) if isinstance(met, dict) else (),
        kinds=kind_results(kinds if isinstance(kinds, KindsSummary) else None, context),
    )
