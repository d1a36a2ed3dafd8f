"""``chaos run`` as one readable recipe: deploy, load, break, heal, final phases, check, report.

Undo is a stack: each phase pushes its undo, and leaving for any reason pops it. The first interrupt
stops the load and the faults but still heals, reads, checks and reports; the second heals and
leaves. The module refuses to decide anything that a pure function elsewhere can decide.
"""

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from chaos import __version__, plugins
from chaos.core.clock import NS_PER_S, Deadline, boot_id, now_ns
from chaos.core.errors import ChaosError, DeadlineError, DeployError, RunInterrupted
from chaos.core.events import RUN_EVENTS, EventLog, Note, Observation
from chaos.core.manifest import write_manifest
from chaos.core.model import word_table
from chaos.core.runinfo import SCHEMA_VERSION, RunInfo, write_run
from chaos.core.verdict import Results, exit_code
from chaos.models.registry import model_named
from chaos.options.experiment import Experiment, as_yaml
from chaos.options.planning import mix_of, plan_of, workload_of
from chaos.run.collecting import collect_logs
from chaos.run.deploy import Deployed, bring_up, prepare, remove_names, start_observer
from chaos.run.final_phases import perform_final_phases
from chaos.run.interrupts import Stopper
from chaos.run.judging import start_early
from chaos.run.machine import machine_facts
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
from cluster.leaders import LeadKeeper, Leads, subjects_of
from cluster.system import System
from nemesis.faults.fault import READY_TIMEOUT_S
from nemesis.faults.registry import faults_on
from nemesis.plan.plan import quiet_stretches, write_plan
from nemesis.runner import Nemesis, check_hosts

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
        self.plan = plan_of(experiment, self.system, backend, say)
        faults = "mix" if "," in experiment.nemesis else experiment.nemesis.replace("@", "-").replace("+", "-")
        group = f"{experiment.system}-{experiment.workload}-{faults}"
        self.folder = make_run_folder(Path(experiment.store), group)
        self.timings_s: dict[str, float] = {}
        self.broke: ChaosError | None = None
        self.info = self._first_info(argv)
        write_run(self.folder, self.info)
        (self.folder / "config.yaml").write_text(as_yaml(experiment))
        write_plan(self.plan, self.folder / "plan.jsonl")
        self.events = EventLog(self.folder / "history" / RUN_EVENTS, watcher.event)

    def _first_info(self, argv: tuple[str, ...]) -> RunInfo:
        e = self.experiment
        poll, began_ns = e.settings.get("client.routePollInterval"), now_ns()
        return RunInfo(
            id=self.folder.name,
            status="planned",
            argv=argv,
            chaos_version=__version__,
            schema_version=SCHEMA_VERSION,
            boot_id=boot_id(),
            origin_ns=began_ns,
            origin_utc=utc_of(began_ns),
            system=e.system,
            system_version=self.system.version,
            backend=self.backend.name,
            workload=e.workload,
            model=self.model.name,
            words=word_table(self.model),
            checks=tuple(dict.fromkeys((*self.workload.checks, *e.checks))),
            nemesis=e.nemesis,
            seed=e.seed,
            settings=e.settings,
            nodes=(),
            roles=dict(self.system.roles),
            keys=e.keys,
            rate=e.rate,
            clients=e.clients,
            workers=e.workers,
            op_timeout_s=e.op_timeout_s,
            time_limit_s=e.time_limit_s,
            fault_interval_s=e.fault_interval_s,
            fault_duration_s=e.fault_duration_s,
            route_poll_interval_s=float(poll) if poll else None,
            rto_budget_s=e.rto_budget_s,
            promises=self.system.promises(e.settings),
            planned_faults=len(self.plan),
            mix={f.word: share for f, share in self.mix.items()},
            body_bytes=e.body_bytes,
            machine=machine_facts(),
            quiet=quiet_stretches(self.plan),
            send_deadline_s=self.send_deadline_s,
            subjects=subjects_of(self.system, e.settings, e.keys),
        )

    def note(self, **changes: Any) -> None:
        """Change ``run.json``."""
        self.info = msgspec.structs.replace(self.info, timings_s=dict(self.timings_s), **changes)
        write_run(self.folder, self.info)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """A phase: its edges in the history, its duration in ``run.json``."""
        began_ns = now_ns()
        self.events.phase(name, "start")
        try:
            yield
        except BaseException as error:
            self.events.phase(name, "end", ok=False, note=str(error) or type(error).__name__)
            raise
        finally:
            self.timings_s[name] = round((now_ns() - began_ns) / NS_PER_S, 3)
        self.events.phase(name, "end")

    def execute(self) -> None:
        """Everything from deployment to the end of the final reads; the cluster is gone afterwards."""
        try:
            with ExitStack() as undo:
                try:
                    deployed, observer = self._deploy(undo)
                    self._under_load(deployed, observer, undo)
                except ChaosError as error:
                    self.broke = error  # whatever undoing may raise on top
                    raise
        finally:
            self._keep_notes()

    def _deploy(self, undo: ExitStack) -> tuple[Deployed, Inside]:
        start_early(self.experiment.engine)
        with self.phase("fetch"):
            self.backend.prepare(self.topology, self.say)
            artefacts = None if self.experiment.reuse else self.system.fetch(self.say)
        self.say(f"deploy   {self._shape()} on {self.backend.name}")
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
                    self.say(f"ready    after {self.timings_s['deploy'] + self.timings_s['ready']:.1f} s")
                    return deployed, observer
            # Nothing has been asked of the cluster yet, so a new one hides nothing; that it came to this is kept.
            self.say(f"warning  deploying again, the first cluster did not come up: {failed}")
            self.events.emit(Note(time_ns=now_ns(), name="deployed-again", text=failed))
            (self.folder / "nodes").rename(self.folder / "nodes-that-did-not-come-up")
            (self.folder / "nodes").mkdir()
            self._keep_notes()
        raise AssertionError("the last attempt returns or raises")

    def _deploy_once(self, artefacts: Path | None, undo: ExitStack) -> tuple[Deployed, Inside]:
        with self.phase("deploy"):
            deployed = bring_up(self.experiment, self.system, self.backend, self.folder, artefacts, undo)
        self._keep_notes()
        self.note(nodes=deployed.view.nodes, status="running")
        with self.phase("ready"):
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
        nodes = " + ".join(f"{number} {role}" for role, number in counts.items())
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
        self.say(
            f"load     {e.rate:g} {self.changes}/s and reads, {e.clients} clients, {e.time_limit_s:g} s; "
            f"faults: {len(self.plan)} of {e.nemesis}, seed {e.seed}"
        )
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
        with self.phase("load"):
            workers.load(origin_ns)
            faults.start()
            self._watch(workers, origin_ns + int(e.time_limit_s * NS_PER_S), leads, silent)
        faults.join(timeout=max((row.duration_s for row in self.plan), default=0.0) + 120)
        with self.phase("heal"):
            nemesis.heal_all()
        recovery.begin()
        absent = Absent()
        if not self.stopper.asked.is_set():
            with self.phase("recovery"):
                until_ns = now_ns() + int(e.recovery_s * NS_PER_S)
                self._watch(workers, until_ns, leads, silent, recovery.waiting(workers, latest, leads))
                recovery.look()
                absent = recovery.absent(workers.totals(), latest(), leads())
        workers.stop()
        self.stopper.check_insisted()
        with self.phase("settle"):
            settle(
                self.system,
                leads,
                self.info.subjects,
                e.drain_deadline_s,
                max((phase.after_s for phase in phases), default=0.0),
                self.stopper.check_insisted,
                self.say,
                absent=bool(absent),
            )
        insisted, noun = self.stopper.check_insisted, self.model.key
        perform_final_phases(phases, noun, workers, absent, e.drain_deadline_s, self.phase, insisted, self.say)
        recovery.look_for_ended()
        workers.end()
        with self.phase("collect"):
            collect_logs(deployed.cluster, self.folder, self.events)

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

        began_ns = now_ns()
        self.say("check    reading the history")
        results = judge(self.folder, self.experiment.engine)
        self.timings_s["check"] = round((now_ns() - began_ns) / NS_PER_S, 3)
        self.note(status="checked")
        try:
            write(self.folder, self.experiment.reports)
        except Exception as error:  # noqa: BLE001 - a page that cannot be drawn must not swallow the verdict
            (self.folder / "logs" / "report.log").write_text(traceback.format_exc())
            self.say(f"warning  no report: {type(error).__name__}: {error}; see logs/report.log")
        point(self.folder.parent.parent / "latest", self.folder)
        return results


def run(
    experiment: Experiment, backend: Any, argv: tuple[str, ...], watcher: Watcher
) -> tuple[Path, Results | None, int]:
    """Do the whole run; returns its folder, the results if there are any, and the exit code."""
    this, say = Run(experiment, backend, argv, watcher), watcher.say
    say(f"run      {this.folder}")
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
