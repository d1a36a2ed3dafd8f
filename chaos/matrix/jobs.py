"""What to do next, and what a finished run says: decisions about jobs and rows, without a process.

Does not start anything: ``chaos.matrix.run_jobs`` does.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from chaos.core.fault_nature import Colour
from chaos.core.matrix_results import VERDICTS, CellRow, Verdict
from chaos.core.verdict import FaultResult, Results
from chaos.matrix.model import Job, load_s
from chaos.storage.manifest import read_checked
from chaos.storage.runinfo import RunInfo, read_run
from checkers.history.words import words_of
from reports.across.figures import recoveries

BESIDE_LOAD_S: Final = 50.0
"""What a run takes beside its load before any was measured."""

ATTEMPTS: Final = 2
BROKE: Final = 255


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One process that was a run. ``folder``: what it left, None if nothing."""

    exit: int
    folder: Path | None
    began: str
    took_s: float
    said: str


def pending_jobs(jobs: Sequence[Job], done: Mapping[str, CellRow], *, unknown: bool = False) -> tuple[Job, ...]:
    """The jobs that have no row of theirs, or one that only says that the run broke: a new command tries again.

    ``unknown``: also those that ended without a verdict. What was invalid stays invalid.
    """
    open_ = ("broke", "unknown") if unknown else ("broke",)
    return tuple(job for job in jobs if (row := done.get(job.planned.id)) is None or row.verdict in open_)


def beside_s(jobs: Sequence[Job], done: Mapping[str, CellRow]) -> float:
    """How long a run takes beside its load: the middle of those that are done, a guess before."""
    taken = [
        done[job.planned.id].took_s - load_s(job.config)
        for job in jobs
        if job.planned.id in done and done[job.planned.id].verdict != "broke"
    ]
    return max(0.0, median(taken)) if taken else BESIDE_LOAD_S


def expected_s(job: Job, own_s: float) -> float:
    """How long a job will take if it takes ``own_s`` beside its load."""
    return load_s(job.config) + own_s


def should_retry(attempt: Attempt, attempts: int) -> bool:
    """Whether to try once more: a run that broke, or that knows nothing because its cluster did not come up or stay."""
    return attempts < ATTEMPTS and attempt.exit == BROKE


def row_of(job: Job, attempt: Attempt, earlier: Sequence[str], folder: Path) -> CellRow:
    """The row of a job: what run.json and results.json of its last attempt said; ``folder`` is the matrix'."""
    info = read_run(attempt.folder) if attempt.folder is not None else None
    results = _results(attempt.folder)
    faults = results.faults if results is not None else ()
    found = results.anomalies if results is not None else {}
    planned = job.planned
    return CellRow(
        **msgspec.structs.asdict(planned),
        argv=("chaos", "run", "-d", f"cells/{planned.id}.yaml"),
        exit=attempt.exit,
        verdict=_verdict(attempt.exit, results),
        sentence=results.sentence if results is not None else "",
        reason=_reason(results, info, attempt),
        anomalies={name: one.count for name, one in found.items()},
        allowed=tuple(name for name, one in found.items() if one.allowed),
        rto=recoveries(faults),
        planned=info.planned_faults if info is not None else 0,
        proven=sum(fault.proven and not fault.skipped for fault in faults),
        healed=sum(fault.healed and not fault.skipped for fault in faults),
        skipped=sum(fault.skipped for fault in faults),
        lost=sum(fault.lost for fault in faults),
        began=attempt.began,
        took_s=round(attempt.took_s, 3),
        timings_s=info.timings_s if info is not None else {},
        run=str(attempt.folder.relative_to(folder)) if attempt.folder is not None else "",
        earlier=tuple(earlier),
        chaos_version=info.chaos_version if info is not None else "",
        system=f"{info.system} {info.system_version}" if info is not None else "",
        colour=_colour(faults),
        changes=words_of(info).timed_changes if info is not None else (),
        thresholds=results.thresholds if results is not None else (),
        gate=results.gate if results is not None else None,
    )


def _colour(faults: Sequence[FaultResult]) -> Colour | None:
    """The colour of these faults, grey if they differ, None without faults."""
    colours = {fault.colour for fault in faults}
    return None if not colours else colours.pop() if len(colours) == 1 else "grey"


def _results(folder: Path | None) -> Results | None:
    return read_checked(folder / "results.json", Results) if folder is not None else None


def _verdict(code: int, results: Results | None) -> Verdict:
    """The verdict of a run that ended by itself; its exit code may have been decided by somebody (SEMANTICS 28)."""
    known: dict[int, Verdict] = {0: "valid", 1: "invalid", 2: "unknown"}
    if code not in known or results is None or results.gate is None:
        return known.get(code, "broke")
    return VERDICTS[results.valid]


def _reason(results: Results | None, info: RunInfo | None, attempt: Attempt) -> str:
    """Why a run is not valid, in one line; what the process said last where nothing else is known."""
    if results is not None and results.reason:
        return results.reason
    if info is not None and info.error:
        return info.error
    return "" if results is not None else attempt.said
