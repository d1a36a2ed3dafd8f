"""``chaos run`` as one readable recipe: deploy, load, break, heal, final phases, check, report.

Undo is a stack: each phase pushes its undo, and leaving for any reason pops it. The first interrupt
stops the load and the faults but still heals, reads, checks and reports; the second heals and
leaves. The module refuses to decide anything that a pure function elsewhere can decide.
"""

import threading
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from chaos import plugins
from chaos.core import progress
from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.errors import ChaosError, DeadlineError, DeployError, RunInterrupted
from chaos.core.events import RUN_EVENTS, EventLog, Note, Observation
from chaos.core.manifest import write_manifest
from chaos.core.runinfo import write_run
from chaos.core.verdict import Results, exit_code
from chaos.models.registry import model_named
from chaos.options.amounts import duration
from chaos.options.experiment import Experiment, as_yaml
from chaos.options.planning import mix_of, plan_of, workload_of
from chaos.run.collecting import collect_logs
from chaos.run.deploy import Deployed, bring_up, prepare, remove_names, start_observer
from chaos.run.final_phases import perform_final_phases
from chaos.run.first_info import first_info
from chaos.run.interrupts import Stopper
from chaos.run.judging import start_early
from chaos.run.phases import Phases
from chaos.run.recovery import Absent, Recovery
from chaos.run.settling import settle
from chaos.run.store import make_run_folder, point
from chaos.run.wall_clock import utc_of
from chaos.run.watching import Beat, Opening, Watcher
from chaos.run.workers import Workers
from chaos.worker.final_spec import final_spec
from chaos.worker.messages import Observe, Seen
from chaos.worker.pipe import Inside
from chaos.workload.base import send_deadline_s
from cluster import existing_cluster
from cluster.leaders import LeadKeeper, Leads
from cluster.system import System
from nemesis.faults.fault import READY_TIMEOUT_S
from nemesis.faults.registry import faults_on
from nemesis.plan.plan import quiet_stretches, write_plan
from nemesis.runner import Nemesis, check_hosts
from reports import words

DEPLOY_ATTEMPTS = 2
"""A cluster that does not come up is replaced once; both attempts share ``--ready-deadline``."""

BEAT_S = 1.0
TICK_S = 0.2
Say = Callable[[str], None]


class Run:
    """One run and what it has come to so far."""

    def __init__(self, experiment: Experiment, backend: Any, argv: tuple[str, ...], watcher: Watcher) -> None:
        self.experiment = experiment
        self.watcher = watcher
        self.say = say = watcher.say
        self.stopper = Stopper(say)
        self.backend = backend
        self.system: System = plugins.load("systems", experiment.system)()
        self.workload = workload_of(experiment)
        self.model = model_named(self.workload.model)
        self.mix = mix_of(experiment, self.system)
        self.changing = frozenset(f.word for f, function in self.model.functions.items() if function.mutates)
        self.changes = next((f"{f.word}s" for f in self.mix if f.word in self.changing), "changes")
        self.send_deadline_s = send_deadline_s(self.workload)
        self.topology = self.system.topology(experiment.settings)
        if experiment.reuse:
            existing_cluster.read(Path(experiment.reuse), self.system.roles)  # refused before anything is made
        self.left_out: list[str] = []
        self.plan = plan_of(experiment, self.system, backend, self.left_out.append)
        faults = "mix" if "," in experiment.nemesis else experiment.nemesis.replace("@", "-").replace("+", "-")
        group = f"{experiment.system}-{experiment.workload}-{faults}"
        self.folder = make_run_folder(Path(experiment.store), group)
        self.broke: ChaosError | None = None
        self.info = first_info(
            run_id=self.folder.name,
            argv=argv,
            experiment=experiment,
            system=self.system,
            workload=self.workload,
            model=self.model,
            mix=self.mix,
            plan=self.plan,
            backend=backend.name,
        )
        write_run(self.folder, self.info)
        (self.folder / "config.yaml").write_text(as_yaml(experiment))
        write_plan(self.plan, self.folder / "plan.jsonl")
        self.events = EventLog(self.folder / "history" / RUN_EVENTS, watcher.event)
        self.phases = Phases(self.events, say)
        self.phase = self.phases.phase

    def note(self, **changes: Any) -> None:
        """Change ``run.json``."""
        self.info = msgspec.structs.replace(self.info, timings_s=dict(self.phases.timings_s), **changes)
        write_run(self.folder, self.info)

    def execute(self) -> None:
        """Everything from deployment to the end of the final reads; the cluster is gone afterwards."""
        try:
            with ExitStack() as undo:
                try:
                    deployed, observer = self._deploy(undo)
                    self._under_load(deployed, observer, undo)
                    self.say("down     ending the cluster")
                except ChaosError as error:
                    self.broke = error  # whatever undoing may raise on top
                    raise
        finally:
            self._keep_notes()

    def _deploy(self, undo: ExitStack) -> tuple[Deployed, Inside]:
        start_early(self.experiment.engine)
        with self.phase("fetch", f"what {self.experiment.system} {self.system.version} needs"):
            self.backend.prepare(self.topology, self.say)
            artefacts = None if self.experiment.reuse else self.system.fetch(self.say)
        for attempt in range(1, DEPLOY_ATTEMPTS + 1):
            with ExitStack() as own:
                try:
                    deployed, observer = self._deploy_once(artefacts, own)
                except (DeadlineError, DeployError) as error:
                    if attempt == DEPLOY_ATTEMPTS:
                        raise
                    failed = str(error)
                else:
                    undo.push(own.pop_all())
                    took_s = self.phases.timings_s
                    self.say(f"ready    deployed in {took_s['deploy']:.1f} s, ready after {took_s['ready']:.1f} s more")
                    return deployed, observer
            # Nothing has been asked of the cluster yet, so a new one hides nothing; that it came to this is kept.
            self.say(f"warning  deploying again, the first cluster did not come up: {failed}")
            self.events.emit(Note(time_ns=now_ns(), name="deployed-again", text=failed))
            (self.folder / "nodes").rename(self.folder / "nodes-that-did-not-come-up")
            (self.folder / "nodes").mkdir()
            self._keep_notes()
        raise AssertionError("the last attempt returns or raises")

    def _deploy_once(self, artefacts: Path | None, undo: ExitStack) -> tuple[Deployed, Inside]:
        with self.phase("deploy", f"{self._shape()} on {self.backend.name}"):
            deployed = bring_up(self.experiment, self.system, self.backend, self.folder, artefacts, undo)
        self._keep_notes()
        self.note(nodes=deployed.view.nodes, status="running")
        with self.phase("ready", "waiting until the cluster serves"):
            observer = start_observer(self.experiment, deployed, self.folder)
            undo.callback(observer.close)
            if self.experiment.reuse:
                undo.callback(self._remove_names, observer, deployed)
            timeout_s = self.experiment.ready_deadline_s / DEPLOY_ATTEMPTS
            found = prepare(self.experiment, observer, timeout_s, self.stopper.check_asked)
            for text in found.warnings:
                self.say(f"warning  {text}")
            if found.promises is not None:
                self.note(settings={**self.info.settings, **found.settings}, promises=found.promises)
            observer.send(Observe())
            observer_seen = Deadline("the first observations", 15)
            while observer.latest(Seen) is None:
                observer_seen.check()
                Deadline("a moment", 0.1).wait()
        return deployed, observer

    def _remove_names(self, observer: Inside, deployed: Deployed) -> None:
        note = remove_names(observer, deployed.view)
        self.events.emit(note)
        self.say(f"cluster  {note.text}")

    def _keep_notes(self) -> None:
        """What the backend saw goes into the history; what a person should know is also said."""
        for note in self.backend.notes():
            self.events.emit(note)
            if note.data.get("warning"):
                self.say(f"warning  {note.text}")

    def _shape(self) -> str:
        counts: dict[str, int] = {}
        for spec in self.topology:
            counts[spec.role] = counts.get(spec.role, 0) + 1
        nodes = ", ".join(words.plural(number, role) for role, number in counts.items())
        return f"{self.experiment.system} {self.system.version}: {nodes}"

    def _under_load(self, deployed: Deployed, observer: Inside, undo: ExitStack) -> None:
        e = self.experiment
        bound = e.max_in_flight(sum(self.mix.values()), self.send_deadline_s)
        longest_s = max(e.op_timeout_s, self.send_deadline_s)
        workers = Workers(e, deployed, self.folder, bound, quiet_stretches(self.plan), longest_s, self.changing)
        undo.callback(workers.kill)
        keeper = LeadKeeper(self.info.subjects)

        def observed() -> tuple[Observation, ...]:
            seen = observer.latest(Seen)
            return seen.observations if seen is not None else ()

        def latest() -> dict[str, Observation]:
            return {one.node: one for one in observed()}

        def leads() -> Leads:
            return keeper.leads(observed(), now_ns())

        def silent() -> tuple[str, ...]:
            return tuple(name for name, seen in latest().items() if not seen.alive)

        kinds = faults_on(e.kill)
        check_hosts(self.plan, deployed.cluster, kinds)  # before the load's time begins: it may take a while
        operations = self.system.operations(self.model.name, e.settings)
        phases = self.workload.final(final_spec(deployed.view, self.system, operations, e.op_timeout_s))
        self.note(required_phases=tuple(phase.name for phase in phases if phase.required))
        origin_ns = workers.await_start(self.stopper.check_asked)
        self.note(origin_ns=origin_ns, origin_utc=utc_of(origin_ns))
        nemesis = Nemesis(
            self.plan,
            deployed.cluster,
            leads,
            self.events,
            origin_ns,
            deployed.client_host,
            kinds,
            self.info.promises.recovers_within_s or READY_TIMEOUT_S,
        )
        recovery = Recovery(
            self.info, deployed.cluster, deployed.client_host, self.folder, self.events, self.say, e.op_timeout_s
        )
        undo.callback(nemesis.heal_all)
        faults = threading.Thread(target=nemesis.run, args=(self.stopper.asked,), name="nemesis", daemon=True)
        self.watcher.opening(
            Opening(
                title=f"{e.system} {self.system.version}, {e.workload}, {e.nemesis}, seed {e.seed}",
                changes=self.changes,
                nodes=tuple(deployed.cluster.nodes),
                plan=self.plan,
                origin_ns=origin_ns,
                time_limit_s=e.time_limit_s,
            )
        )
        self.say(
            f"load     {e.rate:g} {self.changes}/s and reads, {e.clients} clients, {e.time_limit_s:g} s; "
            f"faults: {len(self.plan)} of {e.nemesis}, seed {e.seed}"
        )
        with self.phase("load"):
            workers.load(origin_ns)
            faults.start()
            self._watch(workers, origin_ns + int(e.time_limit_s * NS_PER_S), leads, silent)
        faults.join(timeout=max((row.duration_s for row in self.plan), default=0.0) + 120)
        with self.phase("heal", "the load's time is over; ending the faults that are left"):
            nemesis.heal_all()
        recovery.begin()
        absent = Absent()
        if not self.stopper.asked.is_set():
            with self.phase("recovery", f"loading for {duration(e.recovery_s)} more, until every node serves again"):
                until_ns = now_ns() + int(e.recovery_s * NS_PER_S)
                self._watch(workers, until_ns, leads, silent, recovery.waiting(workers, latest, leads))
                recovery.look()
                absent = recovery.absent(workers.totals(), latest(), leads())
        workers.stop()
        self.stopper.check_insisted()
        with self.phase("settle", "waiting until leaders stand still and nothing is on its way"):
            settle(
                self.system,
                leads,
                self.info.subjects,
                e.drain_deadline_s,
                max((phase.after_s for phase in phases), default=0.0),
                self._check_insisted,
                self.say,
                absent=bool(absent),
            )
        noun, deadline_s = self.model.key, e.drain_deadline_s
        perform_final_phases(phases, noun, workers, absent, deadline_s, self.phase, self._check_insisted, self.say)
        recovery.look_for_ended()
        workers.end()
        with self.phase("collect", "copying the nodes' logs"):
            collect_logs(deployed.cluster, self.folder, self.events)

    def _check_insisted(self) -> None:
        """Raise RunInterrupted if somebody wants to leave at once; tell now and then that a phase goes on."""
        self.stopper.check_insisted()
        self.phases.remind()

    def _watch(
        self,
        workers: Workers,
        until_ns: int,
        leads: Callable[[], Leads],
        silent: Callable[[], tuple[str, ...]],
        waits: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait for the end of a phase under load and tell how it stands; a dead worker is noted once.

        ``waits``: whether to go on although the time is up.
        """
        told_ns, dead = now_ns(), set[str]()
        while (left_s := (until_ns - now_ns()) / NS_PER_S) > 0 or waits():
            if self.stopper.asked.wait(min(TICK_S, left_s) if left_s > 0 else TICK_S):
                return
            self._keep_notes()
            self.backend.check()
            for name in set(workers.dead()) - dead:
                dead.add(name)
                self.events.emit(Note(time_ns=now_ns(), name="worker-ended", text=name))
                self.say(f"warning  {name} ended by itself; the verdict cannot be PASS")
            if now_ns() - told_ns >= BEAT_S * NS_PER_S:
                told_ns = now_ns()
                self.watcher.beat(Beat(now_ns=told_ns, totals=workers.totals(), leads=leads(), silent=silent()))

    def judge(self) -> Results:
        """Run the checks, write the reports, and move ``latest`` here."""
        from chaos.run.judging import judge
        from reports.reporter import write

        with self.phases.apart("check", "reading the history"), progress.listening(self.phases.heard):
            results = judge(self.folder, self.experiment.engine)
        self.note(status="checked")
        self.say(f"report   {', '.join(self.experiment.reports)}")
        try:
            write(self.folder, self.experiment.reports)
        except Exception as error:  # noqa: BLE001 - a page that cannot be drawn must not swallow the verdict
            (self.folder / "logs" / "report.log").write_text(traceback.format_exc())
            self.say(f"warning  no report: {type(error).__name__}: {error}; see logs/report.log")
        point(self.folder.parent.parent / "latest", self.folder)
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
    this, say = Run(experiment, backend, argv, watcher), watcher.say
    for line in (f"backend  {backend.name}{why}", f"run      {this.folder}", *this.left_out):
        say(line)
    with this.stopper.listening():
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
            this.events.close()
            write_manifest(this.folder)  # before the status: a run that says that it is over has one
            this.note(interrupted=this.stopper.asked.is_set(), **ending)
        loaded = any((this.folder / "history").glob("w*.ops"))
        if not loaded:
            return this.folder, None, this.info.broke or DeployError.exit_code
        results = this.judge()
    interrupted = this.stopper.asked.is_set()
    return this.folder, results, exit_code(results.valid, interrupted=interrupted, broke=this.info.broke)
