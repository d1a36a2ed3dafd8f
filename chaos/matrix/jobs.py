"""What to do next, and what a finished run says: decisions about jobs and rows, without a process.

Does not start anything: ``chaos.matrix.run_jobs`` does.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from chaos.backend_choice import is_simulated
from chaos.core.fault_nature import Colour
from chaos.core.matrix_results import VERDICTS, CellRow, Verdict
from chaos.core.verdict import FaultResult, Results
from chaos.matrix.model import Job, load_s
from chaos.options.experiment import DEFAULTS
from chaos.storage.manifest import read_checked
from chaos.storage.runinfo import RunInfo, read_run
from checkers.history.words import words_of
from reports.across.figures import recoveries

BESIDE_LOAD_S: Final = 50.0
"""What a run takes beside its load before any was measured."""
SIMULATED_BESIDE_LOAD_S: Final = 5.0
SIMULATED_PACE: Final = 40.0
"""How many times as fast as real time the load of a simulated run is, at the usual rate on a busy machine."""

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


def expected_s(jobs: Sequence[Job], done: Mapping[str, CellRow]) -> dict[str, float]:
    """How long each job takes, by its id: its load, and the middle of what those that are done took beside theirs.

    A guess stands for the latter before one is done. Simulated runs and others are counted apart.
    """
    loads = {job.planned.id: _load(job) for job in jobs}
    beside = {}
    for simulated, guess in ((False, BESIDE_LOAD_S), (True, SIMULATED_BESIDE_LOAD_S)):
        ids = [name for name, (kind, _) in loads.items() if kind == simulated and name in done]
        taken = [done[name].took_s - loads[name][1] for name in ids if done[name].verdict != "broke"]
        beside[simulated] = max(0.0, median(taken)) if taken else guess
    return {name: seconds + beside[simulated] for name, (simulated, seconds) in loads.items()}


def _load(job: Job) -> tuple[bool, float]:
    """Whether a job is simulated, and how many seconds of ours its load takes."""
    simulated = is_simulated(str(job.config.values.get("backend", DEFAULTS["backend"])))
    return simulated, load_s(job.config) / (SIMULATED_PACE if simulated else 1)


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
