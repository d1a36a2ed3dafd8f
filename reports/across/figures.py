"""The figures of one run, as they are compared and followed over nights. ``figures_of`` is pure."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from chaos.core.matrix_results import NEVER, Recovery
from chaos.core.series import Series
from chaos.core.verdict import FaultResult, Latency, Results, Valid
from chaos.storage.manifest import read_checked
from chaos.storage.runinfo import RunInfo, read_run
from reports.page.faults import worst_rto
from reports.terms import terms_of

RPO: Final = "rpo"
"""The check that knows which faults cost acknowledged messages."""

BLOCK_S: Final = 10.0
"""Seconds of a load whose latencies make one value: neighbouring seconds are alike, so they are no values apart."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run beside its settings; None or empty where nothing was measured.

    ``valid``: None where it was not judged. ``checks``: those that were judged. ``anomalies``, ``allowed``: name →
    count. ``rto``: kind of operation → recovery from each fault, over all keys; ``rto_by_fault``: the same by the
    fault's name. ``precision_s``: of recovery times. ``share``: of the seconds in which a change was due those in
    which one was acknowledged. ``latency_ms``: "p50" and "p99" of the load's operations, a value for each ``BLOCK_S``.
    """

    run: RunInfo
    valid: Valid | None = None
    sentence: str = ""
    checks: dict[str, Valid] = {}
    anomalies: dict[str, int] = {}
    allowed: dict[str, int] = {}
    counts: dict[str, int] = {}
    proven: int = 0
    skipped: int = 0
    lost: int | None = None
    rto: dict[str, tuple[Recovery, ...]] = {}
    rto_by_fault: dict[tuple[str, str], tuple[Recovery, ...]] = {}
    colours: dict[str, str] = {}
    precision_s: float = 0.0
    share: float | None = None
    silence_s: float | None = None
    end_to_end: Latency | None = None
    latency_ms: dict[str, tuple[float, ...]] = {}

    @property
    def change(self) -> str:
        """The kind of operation whose recovery stands for the run's: a change of the object; empty without faults."""
        changes = terms_of(self.run).changes
        return next((f for f in self.rto if f in changes), next(iter(self.rto), ""))


def read_figures(folder: Path, *, series: bool = True) -> Figures:
    """The figures of a run folder.

    Args:
        folder: the run's.
        series: read the time series as well, for latencies.

    Raises:
        HistoryError: no ``run.json``, or a file that is there and cannot be read.
    """
    drawn = read_checked(folder / "series.json", Series) if series else None
    return figures_of(read_run(folder), read_checked(folder / "results.json", Results), drawn)


def figures_of(run: RunInfo, results: Results | None, series: Series | None = None) -> Figures:
    """The figures of a run, judged or not."""
    latency = {} if series is None else {name: blocks(series, name, run.time_limit_s) for name in ("p50", "p99")}
    if results is None:
        return Figures(run=run, sentence=run.error or "", latency_ms=latency)
    done = [fault for fault in results.faults if is_done(fault)]
    found, checks = results.anomalies, {check.name: check.valid for check in results.checks}
    overall = next((one for one in results.availability if one.key < 0), None)
    worst = [rto for fault in done if (rto := worst_rto(fault.rto)) is not None]
    return Figures(
        run=run,
        valid=results.valid,
        sentence=results.sentence,
        checks=checks,
        anomalies={name: one.count for name, one in found.items() if not one.allowed},
        allowed={name: one.count for name, one in found.items() if one.allowed},
        counts=results.counts,
        proven=sum(fault.proven for fault in done),
        skipped=sum(fault.skipped for fault in results.faults),
        lost=sum(fault.lost for fault in results.faults) if RPO in checks else None,
        rto=recoveries(done),
        rto_by_fault=_by_fault(done),
        colours={fault.name: fault.colour for fault in done},
        precision_s=max((rto.resolution_s for rto in worst), default=0.0),
        share=overall.share if overall is not None else None,
        silence_s=overall.silence_s if overall is not None else None,
        end_to_end=next((one for one in results.latency if one.fault is None), None),
        latency_ms=latency,
    )


def is_done(fault: FaultResult) -> bool:
    """Whether a fault was injected."""
    return not fault.skipped and fault.inject_ns is not None


def recoveries(faults: Sequence[FaultResult]) -> dict[str, tuple[Recovery, ...]]:
    """Kind of operation → recovery from each fault that was injected, over all keys, in the faults' order."""
    out: dict[str, list[Recovery]] = {}
    for fault in faults:
        for rto in fault.rto if is_done(fault) else ():
            if rto.key < 0:
                out.setdefault(rto.f, []).append(rto.seconds if rto.recovered else NEVER)
    return {f: tuple(all_of_it) for f, all_of_it in out.items()}


def _by_fault(faults: Sequence[FaultResult]) -> dict[tuple[str, str], tuple[Recovery, ...]]:
    names = dict.fromkeys(fault.name for fault in faults)
    return {
        (name, f): values
        for name in names
        for f, values in recoveries([fault for fault in faults if fault.name == name]).items()
    }


def blocks(series: Series, name: str, load_s: float) -> tuple[float, ...]:
    """The median over each ``BLOCK_S`` of the load of a quantile that was measured each step.

    Milliseconds; ``name``: "p50" or "p99". Blocks in which nothing was measured are left out.
    """
    wide = max(1, round(BLOCK_S / series.step_s))
    values = series.quantiles.get(name, [])[: round(load_s / series.step_s)]
    found = [
        [value for value in values[start : start + wide] if value is not None] for start in range(0, len(values), wide)
    ]
    return tuple(median(block) for block in found if block)
