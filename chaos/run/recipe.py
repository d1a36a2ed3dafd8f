"""``chaos run`` as one readable recipe: deploy, load, break, heal, drain, check, report.

Undo is a stack: each phase pushes its undo, and leaving for any reason pops it. The first interrupt
stops the load and the faults but still heals, drains, checks and reports; the second heals and
leaves. The module refuses to decide anything that a pure function elsewhere can decide.
"""

import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from chaos import __version__, plugins
from chaos.core.clock import NS_PER_S, Deadline, boot_id, now_ns
from chaos.core.errors import ChaosError, DeadlineError, DeployError, RunInterrupted
from chaos.core.events import RUN_EVENTS, EventLog, Note, Observation
from chaos.core.history import SCHEMA_VERSION
from chaos.core.manifest import write_manifest
from chaos.core.runinfo import RunInfo, write_run
from chaos.core.verdict import Results, exit_code
from chaos.models.log.words import F
from chaos.options.experiment import Experiment, as_yaml
from chaos.options.planning import mix_of, plan_of
from chaos.run.deploy import Deployed, bring_up, on_all, prepare, remove_names, start_observer
from chaos.run.interrupts import Stopper
from chaos.run.judging import start_early
from chaos.run.machine import machine_facts
from chaos.run.recovery import Absent, Recovery
from chaos.run.store import make_run_folder, point
from chaos.run.watching import Beat, Opening, Watcher
from chaos.run.workers import COPY_TIMEOUT_S, DRAIN_PASS_TIMEOUT_S, Workers
from chaos.worker.messages import Observe, Seen
from chaos.worker.pipe import Inside
from cluster.cluster import Node
from cluster.system import Leadership, System
from nemesis.faults.fault import READY_TIMEOUT_S
from nemesis.faults.registry import faults_on
from nemesis.plan.plan import quiet_stretches, write_plan
from nemesis.runner import Nemesis, check_hosts

STABLE_S = 5.0
"""Master, epoch and SyncStateSet must have stood still this long before the final reads (SEMANTICS 10)."""

DEPLOY_ATTEMPTS = 2
"""A cluster that does not come up is replaced once; both attempts share ``--ready-deadline``."""

BETWEEN_PASSES_S = 5.5
LOST_AFTER_S = 120.0
"""Equal final reads that end below an acknowledged offset for so long prove its loss (SEMANTICS 10)."""

GIVE_UP_S = 30.0
"""So long is waited for what cannot complete, because something did not come back within the promised time."""

BEAT_S = 1.0
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
        self.operations = self.system.operations(experiment.settings)
        self.mix: dict[F, float] = mix_of(experiment, self.system)
        workload: Any = plugins.load("workloads", experiment.workload)
        self.linger_s: float = workload.linger_s
        self.send_deadline_s: float = workload.send_deadline_s
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
            nemesis=e.nemesis,
            seed=e.seed,
            settings=e.settings,
            nodes=(),
            roles=dict(self.system.roles),
            queues=e.queues,
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
        workers = Workers(e, deployed, self.folder, bound, quiet_stretches(self.plan), longest_s)
        undo.callback(workers.kill)
        probe = self.system.probe(deployed.view)

        def latest() -> dict[str, Observation]:
            seen = observer.latest(Seen)
            return {o.node: o for o in seen.observations} if seen is not None else {}

        def leadership() -> Leadership:
            return probe.leadership(latest())

        def silent() -> tuple[str, ...]:
            return tuple(name for name, seen in latest().items() if not seen.alive)

        kinds = faults_on(e.kill)
        check_hosts(self.plan, deployed.cluster, kinds)  # before the load's time begins: it may take a while
        origin_ns = now_ns() + NS_PER_S // 2
        self.note(origin_ns=origin_ns, origin_utc=utc_of(origin_ns))
        nemesis = Nemesis(
            self.plan,
            deployed.cluster,
            leadership,
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
            f"load     {e.rate:g} sends/s and reads, {e.clients} clients, {e.time_limit_s:g} s; "
            f"faults: {len(self.plan)} of {e.nemesis}, seed {e.seed}"
        )
        self.watcher.opening(
            Opening(
                title=f"{e.system} {self.system.version}, {e.workload}, {e.nemesis}, seed {e.seed}",
                nodes=tuple(deployed.cluster.nodes),
                plan=self.plan,
                origin_ns=origin_ns,
                time_limit_s=e.time_limit_s,
            )
        )
        with self.phase("load"):
            workers.load(origin_ns)
            faults.start()
            self._watch(workers, origin_ns + int(e.time_limit_s * NS_PER_S), leadership, silent)
        faults.join(timeout=max((row.duration_s for row in self.plan), default=0.0) + 120)
        with self.phase("heal"):
            nemesis.heal_all()
        recovery.begin()
        absent = Absent()
        if not self.stopper.asked.is_set():
            with self.phase("recovery"):
                until_ns = now_ns() + int(e.recovery_s * NS_PER_S)
                self._watch(workers, until_ns, leadership, silent, recovery.waiting(workers, latest, leadership))
                recovery.look()
                absent = recovery.absent(workers.totals(), latest(), leadership())
        workers.stop()
        self.stopper.check_insisted()
        with self.phase("settle"):
            self._settle(leadership, recovery.replicas, absent)
        if F.POP in self.mix:
            self._last_pops(workers, absent)
        self._drain(workers, absent)
        self._read_copies(workers, deployed, absent)
        recovery.look_for_ended()
        workers.end()
        with self.phase("collect"):
            self._collect(deployed)

    def _watch(
        self,
        workers: Workers,
        until_ns: int,
        leadership: Callable[[], Leadership],
        silent: Callable[[], tuple[str, ...]],
        waits: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait for the end of a phase under load and tell how it stands; a dead worker is noted once.

        ``waits``: whether to go on although the time is up.
        """
        told_ns, dead = now_ns(), set[str]()
        while (now_ns() < until_ns or waits()) and not self.stopper.asked.wait(0.2):
            self._keep_notes()
            self.backend.check()
            for name in set(workers.dead()) - dead:
                dead.add(name)
                self.events.emit(Note(time_ns=now_ns(), name="worker-ended", text=name))
                self.say(f"warning  {name} ended by itself; the verdict cannot be valid")
            if now_ns() - told_ns >= BEAT_S * NS_PER_S:
                told_ns = now_ns()
                totals = workers.totals()
                self.watcher.beat(
                    Beat(
                        now_ns=told_ns,
                        sends=totals.sends,
                        reads=totals.reads,
                        in_flight=totals.in_flight,
                        worst_lag_s=totals.worst_lag_s,
                        worst_ack_s=totals.worst_ack_s,
                        last_ack_ns=totals.last_ack_ns,
                        leadership=leadership(),
                        silent=silent(),
                    )
                )

    def _settle(self, leadership: Callable[[], Leadership], replicas: Sequence[str], absent: Absent) -> None:
        """Wait until leadership stood still and nothing is on its way any more that the workload knows of.

        A complete SyncStateSet is waited for, but not for ever; and not at all once nodes did not come back in time.
        """
        e = self.experiment
        limit_s = min(e.drain_deadline_s, GIVE_UP_S) if absent else e.drain_deadline_s
        deadline = Deadline("master, epoch and SyncStateSet to stand still", limit_s)
        patience = Deadline("a complete SyncStateSet", 0.0 if absent else e.drain_deadline_s / 2)
        linger = Deadline("messages that are still on their way", self.linger_s)
        last, since_ns = leadership(), now_ns()
        while True:
            self.stopper.check_insisted()
            if deadline.expired():
                self.say(f"warning  {deadline.what}: waited {deadline.timeout_s:g} s in vain; reading what is there")
                return
            Deadline("a moment", 0.2).wait()
            seen = leadership()
            if seen != last:
                last, since_ns = seen, now_ns()
            stood_s = (now_ns() - since_ns) / NS_PER_S
            complete = last.master is not None and len(last.sync_state_set) >= len(replicas)
            if stood_s >= STABLE_S + 1.5 and (complete or patience.expired()) and linger.expired():
                return

    def _last_pops(self, workers: Workers, absent: Absent) -> None:
        """Pop until nothing can come any more or the time is up; which it was, the checks decide."""
        limit_s = self.experiment.drain_deadline_s
        with self.phase("pops"):
            unended = workers.last_pops(min(limit_s, GIVE_UP_S) if absent.queues else limit_s)
        for key, why in sorted(unended.items()):
            self.say(f"warning  queue {key} was not popped to its end: {why}")
        self.stopper.check_insisted()

    def _drain(self, workers: Workers, absent: Absent) -> None:
        """Pairs of passes until two agree or the time is up; which it was, the checks decide.

        Where queues did not recover, reads that fail are given up early: they cannot complete.
        """
        deadline = Deadline("two equal final reads", self.experiment.drain_deadline_s)
        hopeless = Deadline("final reads of queues that did not recover", GIVE_UP_S)
        number, pause_s, timeout_s = 1, BETWEEN_PASSES_S, GIVE_UP_S / 3 if absent.queues else DRAIN_PASS_TIMEOUT_S
        try:
            with self.phase("drain"):
                before, equal_since_ns = workers.drain_pass(1, timeout_s), now_ns()
                while True:
                    self.stopper.insisted.wait(pause_s)
                    self.stopper.check_insisted()
                    number, began_ns = number + 1, now_ns()
                    after = workers.drain_pass(number, timeout_s)
                    why = workers.differ(before, after)
                    if why is not None and absent.queues:
                        hopeless.check(why)
                    if why is None:
                        why = workers.short(after)
                        if why is None or began_ns - equal_since_ns > LOST_AFTER_S * NS_PER_S:
                            break
                        pause_s = LOST_AFTER_S / 4  # whole queues are read each time; the tail has time to come back
                    else:
                        equal_since_ns, pause_s = now_ns(), BETWEEN_PASSES_S
                    deadline.check(why)
                    before = after
        except DeadlineError as error:
            self.say(f"warning  the final reads are not complete: {error}")
        else:
            self.say(f"drained  {self.experiment.queues} queues in {number} passes")

    def _read_copies(self, workers: Workers, deployed: Deployed, absent: Absent) -> None:
        """Have every replica's own copy read; what could not be read is in the history, and the checks' business."""
        replicas = [i for i, node in enumerate(deployed.view.nodes) if self.system.roles[node.role] == "replica"]
        if F.REPLICA not in self.operations or len(replicas) < 2:  # noqa: PLR2004 - one has nothing to differ from
            return
        self.stopper.check_insisted()
        try:
            with self.phase("replicas"):
                read, wanted = workers.copies(replicas, GIVE_UP_S / 3 if absent.nodes else COPY_TIMEOUT_S)
        except ChaosError as error:
            self.say(f"warning  the replicas were not all read: {error}")
        else:
            self.say(f"copies   {read} of {wanted} replicas' copies read")

    def _collect(self, deployed: Deployed) -> None:
        """Copy every node's logs into the run folder; one that cannot be had is said, not fatal."""

        def fetch(node: Node) -> None:
            for name in node.launch.logs:
                target = self.folder / "nodes" / node.name / name.removeprefix("/")
                if Path(node.host.home, name) == target:
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    node.host.get(str(Path(node.host.home, name)), target)
                except (OSError, ChaosError) as error:
                    self.events.emit(Note(time_ns=now_ns(), name="log-missing", node=node.name, text=str(error)))

        on_all(fetch, deployed.cluster.nodes.values())

    def judge(self) -> Results:
        """Run the checks, write the report, and move ``latest`` here."""
        from chaos.run.judging import judge
        from reports.page.html import render

        began_ns = now_ns()
        self.say("check    reading the history")
        results = judge(self.folder, self.experiment.engine)
        self.timings_s["check"] = round((now_ns() - began_ns) / NS_PER_S, 3)
        self.note(status="checked")
        try:
            render(self.folder)
        except Exception as error:  # noqa: BLE001 - a page that cannot be drawn must not swallow the verdict
            (self.folder / "logs" / "report.log").write_text(traceback.format_exc())
            self.say(f"warning  no report: {type(error).__name__}: {error}; see logs/report.log")
        point(self.folder.parent.parent / "latest", self.folder)
        return results


def utc_of(time_ns: int) -> str:
    """An instant of the run's clock as everybody else's clocks have it, so that nodes' logs can be laid beside it."""
    return (datetime.now(UTC) + timedelta(microseconds=(time_ns - now_ns()) / 1000)).isoformat()


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
