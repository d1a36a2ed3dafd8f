"""The figure that a threshold limits, out of ``results.json``. Pure. Does not compare: ``chaos.gate.judge`` does."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from chaos.core.verdict import UNKNOWN, CheckResult, FaultResult, KindResult, Results, Rto
from chaos.gate.threshold import Threshold
from chaos.storage.runinfo import RunInfo

LOST: Final = "lost-write"
RPO: Final = "rpo"
ROLES: Final = "roles"
OF_LOGS: Final = frozenset({"kafka", "log"})
"""Imported models that are no objects."""
_MS: Final = 1000


class Measured(NamedTuple):
    """A figure. ``value``: None if it was not measured, and ``reason`` says why; infinite for what never ended.

    ``lower``: the true figure may be higher, because part of the history was not judged. ``resolution``: how coarse.
    """

    value: float | None
    words: str = ""
    reason: str = ""
    lower: bool = False
    resolution: float = 0.0


def measure(threshold: Threshold, results: Results, run: RunInfo | None) -> Measured:
    """The figure of one threshold; ``run``: None of an imported history."""
    return _FIGURES[threshold.figure](threshold, results, run)


def _lost(_threshold: Threshold, results: Results, run: RunInfo | None) -> Measured:
    return _found(LOST, results, run, "losses were not judged")


def _anomalies(threshold: Threshold, results: Results, run: RunInfo | None) -> Measured:
    if threshold.of:
        return _found(threshold.of, results, run, f"no check that finds {threshold.of} judged this")
    count = sum(one.count for one in results.anomalies.values() if not one.allowed)
    open_ = [row.name for row in results.checks if row.valid == UNKNOWN]
    judged = bool(results.checks) and not open_ and results.valid != UNKNOWN
    return _counted(count, judged=judged, why="not all checks came to an answer")


def _found(name: str, results: Results, run: RunInfo | None, why: str) -> Measured:
    """How often an anomaly was found; known to be none only if a check that finds it came to an answer."""
    found = results.anomalies.get(name)
    rows = [row for row in results.checks if _finds(row, name, run)]
    judged = bool(rows) and all(row.valid != UNKNOWN for row in rows)
    return _counted(found.count if found is not None else 0, judged=judged, why=why)


def _finds(row: CheckResult, name: str, run: RunInfo | None) -> bool:
    """Whether the check of a row finds an anomaly."""
    if name in row.anomalies:
        return True
    if run is None:
        return _model_finds(row.name, name)
    from checkers.engine.installed_checks import checks

    check = checks().get(row.name)
    return check is not None and any(kind.name == name for kind in check.anomalies)


def _model_finds(model: str, name: str) -> bool:
    """The same of the row of an import, which has its model's name; those of logs look for all that a log can show."""
    from checkers.objects.registry import MODELS

    objects = MODELS.get(model)
    return name in objects.stands if objects is not None else model in OF_LOGS


def _counted(count: int, *, judged: bool, why: str) -> Measured:
    if judged:
        return Measured(float(count), str(count))
    return Measured(float(count), f"at least {count}", why, lower=True) if count else Measured(None, reason=why)


def _availability(_threshold: Threshold, results: Results, _run: RunInfo | None) -> Measured:
    share = next((one.share for one in results.availability if one.key < 0), None)
    if share is None:
        share = next((one.share for one in results.availability), None)
    if share is None:
        return Measured(None, reason=results.absent.get("availability", "no change was due"))
    return Measured(share, _share(share))


def _kind(of: str, results: Results) -> KindResult | str:
    """The operations of one kind, or why there are none."""
    found = next((one for one in results.kinds if one.f == of), None)
    if found is not None:
        return found
    has = ", ".join(one.f for one in results.kinds)
    return f"it has no operation {of}, only {has}" if has else "no operation was counted"


def _quantile(threshold: Threshold, results: Results, _run: RunInfo | None) -> Measured:
    kind = _kind(threshold.of, results)
    if isinstance(kind, str):
        return Measured(None, reason=kind)
    value_ms: float | None = getattr(kind, f"{threshold.figure}_ms")
    if value_ms is None:
        return Measured(None, reason=f"no {threshold.of} was ok" if not kind.ok else "the history has no times")
    return Measured(value_ms / _MS, _seconds(value_ms / _MS))


def _throughput(threshold: Threshold, results: Results, _run: RunInfo | None) -> Measured:
    kind = _kind(threshold.of, results)
    if isinstance(kind, str):
        return Measured(None, reason=kind)
    if kind.ok_per_s is None:
        return Measured(None, reason="the history has no times")
    return Measured(kind.ok_per_s, f"{kind.ok_per_s:.4g}/s")


def _errors(threshold: Threshold, results: Results, _run: RunInfo | None) -> Measured:
    kind = _kind(threshold.of, results)
    if isinstance(kind, str):
        return Measured(None, reason=kind)
    bad = kind.fail + kind.info
    if not bad + kind.ok:
        return Measured(None, reason=f"no {threshold.of} was attempted")
    return Measured(bad / (bad + kind.ok), f"{_share(bad / (bad + kind.ok))}, {bad} of {bad + kind.ok}")


def _failovers(_threshold: Threshold, results: Results, run: RunInfo | None) -> Measured:
    heard = any(row.name == ROLES and not row.examined.startswith("0 ") for row in results.checks)
    if not results.failovers and (run is None or not heard):
        return Measured(None, reason="nobody observed who leads")
    return Measured(float(len(results.failovers)), str(len(results.failovers)))


def _faults(threshold: Threshold, results: Results) -> list[FaultResult] | str:
    """The faults that were injected, of the name that the threshold has; or why there are none."""
    done = [one for one in results.faults if not one.skipped and one.inject_ns is not None]
    own = [one for one in done if not threshold.of or threshold.of in (one.name, base_name(one.name))]
    return own or f"no {threshold.of or 'fault'} was injected"


def base_name(fault: str) -> str:
    """``random-loss`` of ``random-loss:probability=0.3@broker``."""
    return fault.partition("@")[0].partition(":")[0]


def _rto(threshold: Threshold, results: Results, run: RunInfo | None) -> Measured:
    if threshold.is_budget and run is not None and not run.planned_faults:
        return Measured(0.0, "no fault was planned")
    faults = _faults(threshold, results)
    if isinstance(faults, str):
        return Measured(None, reason=faults)
    rows = list(_recoveries(faults, run))
    if not rows:
        return Measured(None, reason="recovery was not measured")
    worst = max(rows, key=_length)
    value = _length(worst)
    words = "never" if not worst.recovered else "no outage" if worst.seconds is None else _seconds(value)
    return Measured(value, words, resolution=max(row.resolution_s for row in rows))


def _recoveries(faults: list[FaultResult], run: RunInfo | None) -> Iterator[Rto]:
    """Recovery of what a budget counts, over all keys; of an import of whatever was measured."""
    counted = _budgeted(run)
    for fault in faults:
        overall = [one for one in fault.rto if one.key < 0] or list(fault.rto)
        yield from (one for one in overall if counted is None or one.f in counted)


def _budgeted(run: RunInfo | None) -> frozenset[str] | None:
    """The operations whose recovery counts; None: all."""
    if run is None:
        return None
    from checkers.history.words import words_of

    return words_of(run).budgeted


def _length(one: Rto) -> float:
    return math.inf if not one.recovered else 0.0 if one.seconds is None else one.seconds


def _rpo(threshold: Threshold, results: Results, _run: RunInfo | None) -> Measured:
    faults = _faults(threshold, results)
    if isinstance(faults, str):
        return Measured(None, reason=faults)
    row = next((one for one in results.checks if one.name == RPO), None)
    if row is None:
        return Measured(None, reason=results.absent.get(RPO, "losses were not judged"))
    value = max(one.lost if threshold.unit == "count" else (one.rpo_span_s or 0.0) for one in faults)
    words = str(value) if threshold.unit == "count" else _seconds(value)
    if row.valid == UNKNOWN or any(one.name == "no-loss" and one.valid == UNKNOWN for one in results.checks):
        why = "losses were not judged to their end"
        return Measured(float(value), f"at least {words}", why, lower=True) if value else Measured(None, reason=why)
    return Measured(float(value), words)


def _share(value: float) -> str:
    """``99.2 %``, with the digits that keep it apart from 100 %."""
    return f"{math.floor(value * 100_000) / 1000:.5g} %"


def _seconds(value_s: float) -> str:
    """``350 ms``, ``3.01 s``: four digits, since a limit may be near."""
    return f"{value_s * _MS:.4g} ms" if 0 < value_s < 1 else f"{value_s:.4g} s"


_FIGURES: Final[Mapping[str, Callable[[Threshold, Results, RunInfo | None], Measured]]] = {
    "lost": _lost,
    "availability": _availability,
    "p50": _quantile,
    "p90": _quantile,
    "p95": _quantile,
    "p99": _quantile,
    "max": _quantile,
    "rto": _rto,
    "rpo": _rpo,
    "anomalies": _anomalies,
    "throughput": _throughput,
    "errors": _errors,
    "failovers": _failovers,
}
