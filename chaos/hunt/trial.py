"""One run that is tried, and what came of it: here if the backend has no processes, else as a process of its own."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from chaos.backend_choice import choose_backend
from chaos.core.errors import ChaosError, HistoryError, UsageError
from chaos.core.verdict import INTERRUPTED, Results
from chaos.hunt.candidate import CONFIG, PLAN, Candidate, experiment_for
from chaos.matrix.process import perform
from chaos.options.experiment import Experiment, as_yaml
from chaos.run.repeat import VERDICTS
from chaos.run.store import point
from chaos.run.watching import Quiet
from chaos.storage.manifest import read_checked
from chaos.storage.runinfo import read_run, write_run
from checkers.anomalies.catalogue import kind_of
from cluster.host import RunsHere
from nemesis.plan.plan_file import write_plan

BESIDE_S: Final = 600.0
"""So long a process may take beyond all its own deadlines; then it hangs, and is killed."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run.

    ``verdict``: PASS, FAIL, UNKNOWN or ``broke``. ``anomalies``: those that are not allowed, headlines first.
    ``folder``: None if it broke. ``features``: what was seen of it, where somebody looked. ``broken``: what did not
    hold of a simulated system, as its invariants say.
    """

    verdict: str = "broke"
    anomalies: tuple[str, ...] = ()
    sentence: str = ""
    folder: Path | None = None
    features: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    interrupted: bool = False
    took_s: float = 0.0


def found_in(results: Results) -> tuple[str, ...]:
    """The anomalies that make a verdict FAIL, those that are no part of another first."""
    wrong = [
        (name, one)
        for name, one in results.anomalies.items()
        if not one.allowed and kind_of(name).consequence == "invalid"
    ]
    return tuple(name for name, one in sorted(wrong, key=lambda pair: pair[1].part_of is not None))


def found_in_folder(folder: Path) -> tuple[str, ...]:
    """The same of a stored run; nothing if it was not judged."""
    results = read_checked(folder / "results.json", Results)
    return () if results is None else found_in(results)


def attempt(base: Experiment, candidate: Candidate, room: Path, interrupts: Callable[[], int]) -> Trial:
    """Make one run in a folder ``room`` of its own, judge it, and write no reports.

    A run that breaks or that cannot begin has found nothing. ``interrupts``: how often somebody asked to stop.
    """
    began_s = time.monotonic()
    room.mkdir(parents=True)
    plan = room / PLAN
    write_plan(candidate.rows, plan)
    asked = experiment_for(base, candidate, plan)
    asked = msgspec.structs.replace(asked, store=str(room / "runs"), reports=())
    backend, _ = choose_backend(asked.backend, asked.backend_options)
    try:
        trial = _here(asked, backend) if isinstance(backend, RunsHere) else _as_process(asked, room, interrupts)
    except ChaosError as error:
        trial = Trial(sentence=str(error))
    return msgspec.structs.replace(trial, took_s=time.monotonic() - began_s)


def _here(asked: Experiment, backend: RunsHere) -> Trial:
    from chaos.run.phases_of_a_run import run

    folder, results, code = run(asked, backend, ("chaos", "run"), Quiet())
    if results is None:
        return Trial(sentence="it broke before it could be judged", interrupted=code == INTERRUPTED)
    trial = _judged(results, folder, interrupted=code == INTERRUPTED)
    return msgspec.structs.replace(trial, broken=tuple(backend.broken))


def _as_process(asked: Experiment, room: Path, interrupts: Callable[[], int]) -> Trial:
    runs, options = room / "runs", room / CONFIG
    runs.mkdir(exist_ok=True)
    options.write_text(as_yaml(asked))
    e = asked
    deadline_s = e.time_limit_s + e.recovery_s + e.ready_deadline_s + 2 * e.drain_deadline_s + BESIDE_S
    made = perform(options, runs, room / "output.log", deadline_s, interrupts)
    results = read_checked(made.folder / "results.json", Results) if made.folder is not None else None
    interrupted = made.exit == INTERRUPTED
    if results is None:
        return Trial(sentence=made.said, interrupted=interrupted)
    return _judged(results, made.folder, interrupted=interrupted)


def _judged(results: Results, folder: Path | None, *, interrupted: bool) -> Trial:
    return Trial(
        verdict=VERDICTS[results.valid],
        anomalies=found_in(results),
        sentence=results.sentence,
        folder=folder,
        interrupted=interrupted,
    )


def check_store(store: Path) -> None:
    """Make the store.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--store {store}: {error.strerror}; name a folder that can be written") from None


def keep(trial: Trial, base: Experiment, candidate: Candidate) -> Path:
    """Move the folder of a run into the store of ``base``, with a command that repeats it, and write its reports."""
    from reports.reporter import write

    assert trial.folder is not None
    target = Path(base.store) / trial.folder.parent.name / trial.folder.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(trial.folder, target)
    target = target.absolute()
    (target / CONFIG).write_text(as_yaml(experiment_for(base, candidate, target / PLAN)))
    argv = ["chaos", "run", "-d", str(target / CONFIG), "--plan", str(target / PLAN)]
    write_run(target, msgspec.structs.replace(read_run(target), argv=argv))
    with suppress(OSError, ValueError, HistoryError):  # the run is kept; ``chaos report`` writes them again
        write(target, base.reports)
    point(Path(base.store) / "latest", target)
    return target
