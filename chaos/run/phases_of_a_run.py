"""``chaos run`` phase by phase: deploy, load, break, heal, final phases, check, report.

Undo is a stack: each phase pushes its undo, and leaving for any reason pops it. The first interrupt stops the load and
the faults but still heals, reads, checks and reports; the second heals and leaves. What a pure function can decide is
decided elsewhere.
"""

import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from chaos.basics import progress
from chaos.core.clock import Deadline, now_ns
from chaos.core.errors import ChaosError, DeadlineError, DeployError, RunInterrupted
from chaos.core.events import Note
from chaos.core.verdict import Results, exit_code
from chaos.options.experiment import Experiment
from chaos.options.system_under_test import system_of
from chaos.run.deploy import Deployed, bring_up, prepare, remove_names, start_observer
from chaos.run.judging import check_engine, start_early
from chaos.run.state import RunState
from chaos.run.store import point
from chaos.run.under_load import UnderLoad
from chaos.run.watching import Watcher
from chaos.storage.manifest import write_manifest
from chaos.worker.messages import Observe, Seen
from chaos.worker.pipe import Inside
from cluster.host import RunsHere
from cluster.relaunch import program_of
from nemesis.arming import arming_for, armings_of
from nemesis.faults.registry import faults_on, simulated_answers
from nemesis.plan.plan import relaunches_of
from reports import words

DEPLOY_ATTEMPTS: Final = 2
"""A cluster that does not come up is replaced once; both attempts share ``--ready-deadline``."""
FIRST_SIGHT_S: Final = 15.0
MOMENT_S: Final = 0.1


class Run:
    """One run and what it has come to so far. ``broke``: what ended it before its time."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.broke: ChaosError | None = None

    def execute(self) -> None:
        """Everything from deployment to the end of the final reads; the cluster is gone afterwards."""
        try:
            with ExitStack() as undo:
                try:
                    deployed, observer = self._deploy(undo)
                    UnderLoad(self.state, deployed, observer, undo).perform()
                    self.state.say("down     ending the cluster")
                except ChaosError as error:
                    self.broke = error  # whatever undoing may raise on top
                    raise
        finally:
            self.state.keep_notes()

    def _deploy(self, undo: ExitStack) -> tuple[Deployed, Inside]:
        state = self.state
        if isinstance(state.backend, RunsHere):  # over before Spark would be up
            check_engine(state.experiment.engine)
        else:
            start_early(state.experiment.engine)
        with state.phase("fetch", f"what {state.experiment.system} {state.system.version} needs"):
            state.backend.prepare(state.topology, state.say)
            here = isinstance(state.backend, RunsHere)  # its nodes are made of modules that are loaded
            artefacts = None if state.experiment.reuse or here else state.system.fetch(state.say)
            versions = {
                one.version: program_of(state.system, state.experiment.settings, one).system.fetch(state.say)
                for one in relaunches_of(state.plan)
                if one.version
            }
        for attempt in range(1, DEPLOY_ATTEMPTS + 1):
            with ExitStack() as own:
                try:
                    deployed, observer = self._deploy_once(artefacts, versions, own)
                except (DeadlineError, DeployError) as error:
                    state.interrupts.check_asked()
                    if attempt == DEPLOY_ATTEMPTS:
                        raise
                    failed = str(error)
                else:
                    undo.push(own.pop_all())
                    took_s = state.phases.timings_s
                    state.say(
                        f"ready    deployed in {took_s['deploy']:.1f} s, ready after {took_s['ready']:.1f} s more"
                    )
                    return deployed, observer
            self._clear_away(failed)
        raise AssertionError("the last attempt returns or raises")

    def _clear_away(self, failed: str) -> None:
        """Make room for another cluster.

        Nothing has been asked of the first one, so a new one hides nothing; that it came to this is kept.
        """
        state = self.state
        state.say(f"warning  deploying again, the first cluster did not come up: {failed}")
        state.events.emit(Note(time_ns=now_ns(), name="deployed-again", text=failed))
        (state.folder / "nodes").rename(state.folder / "nodes-that-did-not-come-up")
        (state.folder / "nodes").mkdir()
        state.keep_notes()

    def _deploy_once(
        self, artefacts: Path | None, versions: Mapping[str, Path], undo: ExitStack
    ) -> tuple[Deployed, Inside]:
        state, e = self.state, self.state.experiment
        state.interrupts.check_asked()
        with state.phase("deploy", f"{self._shape()} on {state.backend.name}"):
            kinds = faults_on(e.kill)
            armings = armings_of(
                (arming_for(kinds[row.fault].arming, row.read_params()), row.roles) for row in state.plan
            )
            deployed = bring_up(e, state.system, state.backend, state.folder, artefacts, undo, armings, versions)
        state.keep_notes()
        state.note(nodes=deployed.view.nodes, status="running")
        with state.phase("ready", "waiting until the cluster serves"):
            observer = start_observer(e, deployed, state.folder)
            undo.callback(observer.close)
            if e.reuse:
                undo.callback(self._remove_names, observer, deployed)
            self._prepare(observer)
            observer.send(Observe())
            deadline = Deadline("the first observations", FIRST_SIGHT_S)
            while observer.latest(Seen) is None:
                deadline.check()
                Deadline("a moment", MOMENT_S).wait()
        return deployed, observer

    def _prepare(self, observer: Inside) -> None:
        """Let the cluster make what the workload needs; what it promises by its own word counts from here on."""
        state = self.state
        timeout_s = state.experiment.ready_deadline_s / DEPLOY_ATTEMPTS
        found = prepare(state.experiment, observer, timeout_s, state.interrupts.check_asked)
        for text in found.warnings:
            state.say(f"warning  {text}")
        if found.promises is not None:
            state.note(settings={**state.info.settings, **found.settings}, promises=found.promises)

    def _remove_names(self, observer: Inside, deployed: Deployed) -> None:
        note = remove_names(observer, deployed.view)
        self.state.events.emit(note)
        self.state.say(f"cluster  {note.text}")

    def _shape(self) -> str:
        state = self.state
        counts: dict[str, int] = {}
        for spec in state.topology:
            counts[spec.role] = counts.get(spec.role, 0) + 1
        nodes = ", ".join(words.plural(number, role) for role, number in counts.items())
        return f"{state.experiment.system} {state.system.version}: {nodes}"


def conclude(state: RunState) -> Results:
    """Run the checks, write the reports that are asked for, and move ``latest`` here."""
    from chaos.run.judging import judge
    from reports.reporter import write

    with state.phases.outside_history("check", "reading the history"), progress.listening(state.phases.heard):
        results = judge(state.folder, state.experiment.engine, state.judge_loading)
    state.note(status="checked")
    if state.experiment.reports:  # of none ``write`` would make the page
        state.say(f"report   {', '.join(state.experiment.reports)}")
        try:
            write(state.folder, state.experiment.reports)
        except Exception as error:  # noqa: BLE001 - a page that cannot be drawn must not swallow the verdict
            (state.folder / "logs" / "report.log").write_text(traceback.format_exc())
            state.say(f"warning  no report: {type(error).__name__}: {error}; see logs/report.log")
    point(state.folder.parent.parent / "latest", state.folder)
    return results


def run(
    experiment: Experiment, backend: Any, argv: tuple[str, ...], watcher: Watcher, why: str = ""
) -> tuple[Path, Results | None, int]:
    """Do the whole run; returns its folder, the results if there are any, and the exit code.

    Args:
        experiment: what was asked for.
        backend: makes the hosts.
        argv: the command line that asked for it.
        watcher: looks on; it hears nothing of a run that cannot begin.
        why: a clause that says why this backend was chosen.

    Raises:
        UsageError: the run cannot begin; nothing was made.
    """
    say = watcher.say
    keeping = ExitStack()
    if isinstance(backend, RunsHere):
        answers = simulated_answers()
        keeping.enter_context(backend.keeping_time(system_of(experiment), experiment.seed, say, answers))
    with keeping:
        state, loaded = _until_down(experiment, backend, argv, watcher, why)
    with state.interrupts.listening():
        if not loaded:
            return state.folder, None, state.info.broke or DeployError.exit_code
        results = conclude(state)
    interrupted = state.interrupts.asked.is_set()
    return state.folder, results, exit_code(results.answer, interrupted=interrupted, broke=state.info.broke)


def _until_down(
    experiment: Experiment, backend: Any, argv: tuple[str, ...], watcher: Watcher, why: str
) -> tuple[RunState, bool]:
    """The run until its cluster is gone, and whether there is a history to judge."""
    state, say = RunState(experiment, backend, argv, watcher), watcher.say
    this = Run(state)
    for line in (f"backend  {backend.name}{why}", f"run      {state.folder}", *state.left_out):
        say(line)
    with state.interrupts.listening():
        ending: dict[str, Any] = {"status": "crashed", "error": "ended from outside"}
        try:
            this.execute()
            ending = {"status": "ran"}
        except ChaosError as last:
            error = this.broke or last
            say(f"{'left' if isinstance(error, RunInterrupted) else 'broke':<8} {error}")
            ending = {"status": "crashed", "error": str(error), "broke": error.exit_code}
        except Exception as error:
            ending = {"status": "crashed", "error": f"{type(error).__name__}: {error}"}
            raise
        finally:
            state.events.close()
            write_manifest(state.folder)  # before the status: a run that says that it is over has one
            state.note(interrupted=state.interrupts.asked.is_set(), **ending)
    return state, any((state.folder / "history").glob("w*.ops"))
