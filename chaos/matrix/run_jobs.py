"""Runs a matrix: one job after the other, each stored before the next begins, and the pages made anew each time.

What is on the disk is the only state, so a matrix that was cut off goes on where it was: jobs without a row are done,
what a cut-off run left behind is removed. Does not change a verdict, and does not try an invalid run again.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import yaml

from chaos.core.errors import ChaosError, UsageError
from chaos.core.matrix_results import PLAN, CellRow, MatrixPlan, append_row, current, read_plan, read_rows, worst_exit
from chaos.core.verdict import exit_code
from chaos.gate.judge import gates_of
from chaos.matrix.jobs import Attempt, expected_s, pending_jobs, row_of, should_retry
from chaos.matrix.model import Job, load_s, to_options
from chaos.matrix.process import perform
from chaos.options.experiment import DEFAULTS
from chaos.options.gates import gates_in
from chaos.run.interrupts import Interrupts
from chaos.run.judging import judge_each
from chaos.run.store import runs_in
from chaos.storage.runinfo import read_run
from cluster import clean
from cluster.hosts.docker.cleanup import present
from reports import words
from reports.matrix.pages import write_pages
from reports.matrix.recovery import change_of, pooled_spread
from reports.reporter import write

RUNS: Final = "runs"
PATIENCE_S: Final = 900.0
"""So long a run may take beyond all its own deadlines; then it hangs, and has broken."""

Say = Callable[[str], None]


def conduct(
    plan: MatrixPlan,
    jobs: Sequence[Job],
    wanted: Sequence[Job],
    folder: Path,
    say: Say,
    *,
    stop_on_invalid: bool,
    unknown: bool = False,
) -> int:
    """Do what is left of the wanted jobs; returns the exit code of all wanted jobs that are done.

    Args:
        plan: what ``matrix.json`` is to say; it has all jobs.
        jobs: all jobs.
        wanted: those to be done now.
        folder: the matrix' folder, made if missing.
        say: is given one line a job.
        stop_on_invalid: begin nothing more after an invalid run.
        unknown: run again what ended without a verdict; the row before stays, and counts no more.

    Raises:
        UsageError: somebody else is at work in this folder, or it cannot be written.
    """
    with _alone(folder):
        _write(folder / PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=1))
        clear(folder, say)
        interrupts = Interrupts(say)
        with interrupts.listening():
            stopped = _do(jobs, wanted, folder, say, interrupts, stop_on_invalid=stop_on_invalid, unknown=unknown)
        write_pages(folder)
        done = current(plan.jobs, read_rows(folder))
        rows = [done[job.planned.id] for job in wanted if job.planned.id in done]
        if stopped:
            say(f"stopped: {len(wanted) - len(rows)} of {len(wanted)} runs are left; the same command goes on")
        return worst_exit(rows, interrupted=interrupts.asked.is_set())


def judge_again(jobs: Sequence[Job], folder: Path, say: Say) -> int:
    """Judge the stored runs of these jobs with today's checkers; what changed gets a new row, and nothing is run.

    Returns:
        The exit code of those that are done.

    Raises:
        UsageError: somebody else is at work in this folder, or it cannot be written.
        HistoryError: there is no matrix, or a run's history is gone or was altered.
    """
    read_plan(folder)
    with _alone(folder):
        by_id = {job.planned.id: job for job in jobs}
        ids = [job.planned for job in jobs]
        rows = [row for row in current(ids, read_rows(folder)).values() if row.run and row.verdict != "broke"]
        runs = [folder / row.run for row in rows]
        engine = str(jobs[0].config.values.get("engine", DEFAULTS["engine"]))
        wanted = {read_run(run).id: gates_in(by_id[row.id].config.values) for row, run in zip(rows, runs, strict=True)}
        judged = judge_each(runs, engine, wished=lambda run: gates_of(run, wanted[run.id]))
        for row, run, results in zip(rows, runs, judged, strict=True):
            if isinstance(results, ChaosError):
                raise results
            write(run)
            info = read_run(run)
            code = exit_code(results.answer, interrupted=info.interrupted, broke=info.broke)
            attempt = Attempt(exit=code, folder=run, began=row.began, took_s=row.took_s, said="")
            new = row_of(by_id[row.id], attempt, row.earlier, folder)
            if new != row:
                append_row(folder, new)
                say(f"{new.verdict:<7}  {new.id}{describe_change(row, new)}")
        say(f"{len(rows)} runs judged again")
        write_pages(folder)
        return worst_exit(current(ids, read_rows(folder)).values())


def describe_change(before: CellRow, after: CellRow) -> str:
    """What another judgement changed of a row that matters most."""
    if before.verdict != after.verdict:
        return f", was {before.verdict}: {after.sentence or after.reason}"
    names = [name for name in CellRow.__struct_fields__ if getattr(before, name) != getattr(after, name)]
    return f", other {', '.join(names)}"


def _do(
    jobs: Sequence[Job],
    wanted: Sequence[Job],
    folder: Path,
    say: Say,
    interrupts: Interrupts,
    *,
    stop_on_invalid: bool,
    unknown: bool,
) -> bool:
    """Every wanted job that has no row; True if it was stopped before the last."""
    ids = [job.planned for job in jobs]
    done = dict(current(ids, read_rows(folder)))
    left = pending_jobs(wanted, done, unknown=unknown)
    if len(left) < len(wanted):
        say(f"{len(wanted) - len(left)} of {len(wanted)} runs are done already")
    for position, job in enumerate(left):
        row = _one(job, folder, say, interrupts)
        if row is None:
            return True
        append_row(folder, row)
        done[row.id] = row
        rest = left[position + 1 :]
        expected = expected_s(jobs, done)
        rest_s = sum(expected[one.planned.id] for one in rest)
        say(line(row, len(wanted) - len(rest), len(wanted), rest_s))
        write_pages(folder)
        if rest and stop_on_invalid and row.answer == "invalid":
            return True
    return False


def _one(job: Job, folder: Path, say: Say, interrupts: Interrupts) -> CellRow | None:
    """The row of one job, tried again if it broke; None if somebody interrupted it."""
    cells = folder / "cells"
    cells.mkdir(exist_ok=True)
    options, log = cells / f"{job.planned.id}.yaml", cells / f"{job.planned.id}.log"
    text = yaml.safe_dump(to_options(job.config), sort_keys=False, allow_unicode=True)
    _write(options, f"# {job.planned.id}: chaos run -d this file\n{text}".encode())
    earlier: list[str] = []
    while not interrupts.asked.is_set():
        attempt = perform(
            options,
            folder / RUNS,
            log,
            deadline_s(job),
            lambda: interrupts.times,
        )
        if interrupts.asked.is_set():
            return None
        if not should_retry(attempt, len(earlier) + 1):
            return row_of(job, attempt, [one for one in earlier if one], folder)
        earlier.append(str(attempt.folder.relative_to(folder)) if attempt.folder is not None else "")
        say(f"again    {job.planned.id}: it broke: {attempt.said}")
    return None


def deadline_s(job: Job) -> float:
    """When a run has surely hung: all that it may wait for, and some patience."""
    times = {**DEFAULTS, **job.config.values}
    return load_s(job.config) + float(times["ready_deadline_s"]) + 2 * float(times["drain_deadline_s"]) + PATIENCE_S


def line(row: CellRow, number: int, total: int, rest_s: float) -> str:
    """What is said of a job that is done."""
    middle = pooled_spread([row]).median
    faults = f"{row.proven} of {row.planned} faults" + (f" ({row.skipped} skipped)" if row.skipped else "")
    recovery = f", {change_of([row])} RTO {words.seconds(middle)}" if middle is not None else ""
    why = f": {row.sentence if row.verdict == 'invalid' else row.reason}" if row.verdict != "valid" else ""
    return (
        f"{number:>{len(str(total))}}/{total}  {words.VERDICTS[row.verdict]:<7}  {row.id}  {row.took_s:.0f} s,"
        f" {faults}{recovery}, {clock(rest_s)} left{why}"
    )


def clock(value_s: float) -> str:
    """A long duration: ``1 h 05 min``, ``12 min``."""
    minutes = round(value_s / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"  # noqa: PLR2004 - an hour


def clear(folder: Path, say: Say) -> None:
    """Remove what runs left that no row names: they were cut off, with us, and are made again.

    What is left of them on this machine goes first; nothing of a living run is touched.
    """
    named = {name for row in read_rows(folder) for name in (row.run, *row.earlier)}
    cut_off = {path.name: path for path in runs_in(folder / RUNS) if str(path.relative_to(folder)) not in named}
    if not cut_off:
        return
    engine = present()
    for leftover in clean.leftovers(engine):
        if leftover.run_id in cut_off:
            say(f"removing {leftover.kind} of run {leftover.run_id}, which was cut off: {leftover.what}")
            clean.remove(leftover, engine)
    for path in cut_off.values():
        say(f"removing {path.relative_to(folder)}, which was cut off")
        shutil.rmtree(path)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder for this process; the kernel lets go of it when we end, however that is."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"--store {folder.parent}: {error.strerror}; name a folder that can be written") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UsageError(f"{folder}: another chaos matrix is at work there; wait, or give another --store") from None
    finally:
        os.close(fd)


def _write(path: Path, content: bytes) -> None:
    """A file whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content)
    partial.replace(path)


def forecast(jobs: Sequence[Job], done: Mapping[str, CellRow], *, unknown: bool = False) -> list[tuple[Job, float]]:
    """Each job with the seconds it is expected to take; 0 for one that is done."""
    expected = expected_s(jobs, done)
    left = {job.planned.id for job in pending_jobs(jobs, done, unknown=unknown)}
    return [(job, expected[job.planned.id] if job.planned.id in left else 0.0) for job in jobs]
