"""What is done to a cluster that serves: load and faults, recovery, final phases, the nodes' logs.

Each phase is a method, in the order in which they are called. What a pure function can decide is decided elsewhere.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import msgspec

from chaos.basics.amounts import duration
from chaos.core import waiting
from chaos.core.clock import NS_PER_S, Deadline, now_ns, ns_from_now
from chaos.core.errors import ChaosError
from chaos.core.events import Note, Observation
from chaos.core.node_notes import OBSERVER_ENDED
from chaos.run.collect_logs import collect_logs
from chaos.run.deploy import Deployed
from chaos.run.final_phases import perform_final_phases
from chaos.run.judging import start_getting_ready
from chaos.run.state import RunState
from chaos.run.wait_for_recovery import Absent, Recovery
from chaos.run.wait_until_settled import settle
from chaos.run.wall_clock import utc_of
from chaos.run.watching import Beat, Opening
from chaos.run.workers import Workers
from chaos.worker.final_spec import final_spec
from chaos.worker.messages import ReadReplicas, ReplicasRead, Seen
from chaos.worker.pipe import Inside
from chaos.workload.base import send_deadline_s
from chaos.workload.final import GIVE_UP_S, FinalPhase
from cluster.host import RunsHere
from cluster.leaders import LeadKeeper, Leads
from cluster.system import ShowsReplicaData
from nemesis.check_hosts import check_hosts
from nemesis.faults.fault import READY_TIMEOUT_S, Load
from nemesis.faults.registry import faults_on
from nemesis.plan.plan import load_steps, quiet_stretches
from nemesis.runner import Nemesis

BEAT_S: Final = 1.0
TICK_S: Final = 0.2
READ_S: Final = 30.0
"""For what replicas hold to be read, once they have all applied the same or are not waited for any more."""
FAULT_END_S: Final = 120.0
"""How much longer than its planned duration a fault may take until its thread has to be through."""


class Sight:
    """What the observer saw last: nodes, and who leads by it."""

    def __init__(self, observer: Inside, keeper: LeadKeeper) -> None:
        self._observer = observer
        self._keeper = keeper

    def _observed(self) -> tuple[Observation, ...]:
        seen = self._observer.latest(Seen)
        return seen.observations if seen is not None else ()

    def latest(self) -> dict[str, Observation]:
        """Node to its last observation."""
        return {one.node: one for one in self._observed()}

    def leads(self) -> Leads:
        """Subject to who leads it now."""
        return self._keeper.leads(self._observed(), now_ns())

    def silent(self) -> tuple[str, ...]:
        """The nodes that do not answer."""
        return tuple(name for name, seen in self.latest().items() if not seen.alive)


class UnderLoad:
    """A run from the first operation to the last final read.

    Args:
        state: the run.
        deployed: the cluster, serving.
        observer: the process that looks at its nodes.
        undo: gets what ends workers and faults, whatever happens.
    """

    def __init__(self, state: RunState, deployed: Deployed, observer: Inside, undo: ExitStack) -> None:
        self.state = state
        self.deployed = deployed
        self.workers = self._start_workers(undo)
        self.observer = observer
        self._blind = False
        self.sight = Sight(observer, LeadKeeper(state.info.subjects))
        self.final_phases = self._final_phases()
        kinds = faults_on(state.experiment.kill)
        check_hosts(state.plan, deployed.cluster, kinds)  # before the load's time begins: it may take a while
        self.origin_ns = self.workers.await_start(state.interrupts.check_asked)
        state.note(origin_ns=self.origin_ns, origin_utc=utc_of(self.origin_ns))
        self.nemesis = Nemesis(
            state.plan,
            deployed.cluster,
            self.sight.leads,
            state.events,
            self.origin_ns,
            deployed.client_host,
            kinds,
            state.info.promises.recovers_within_s or READY_TIMEOUT_S,
            acked_ns=lambda: self.workers.totals().last_ack_ns,
            load=Load(
                lambda: self.workers.totals().begun,
                state.experiment.rate * sum(state.mix.values()),
                self.workers,
            ),
        )
        undo.callback(self.nemesis.heal_all)
        self.recovery = Recovery(
            state.info,
            deployed.cluster,
            deployed.client_host,
            state.folder,
            state.events,
            state.say,
            state.experiment.op_timeout_s,
            self.nemesis.left_in_force,
        )

    def perform(self) -> None:
        """Everything, in its order.

        Raises:
            ChaosError: a phase could not be done.
            RunInterrupted: somebody insisted on leaving at once.
        """
        self._load()
        absent = self._recover()
        left = self.nemesis.left_in_force()
        absent = msgspec.structs.replace(absent, nodes=tuple(sorted({*absent.nodes, *left})))
        self._settle(bool(absent))
        self._finish(absent)

    def _start_workers(self, undo: ExitStack) -> Workers:
        state, e = self.state, self.state.experiment
        of_sends_s = send_deadline_s(state.workload)
        bound = e.max_in_flight(sum(state.mix.values()), of_sends_s)
        longest_s = max(e.op_timeout_s, of_sends_s)
        quiet, steps = quiet_stretches(state.plan), load_steps(state.plan)
        bound = math.ceil(bound * max((factor for *_, factor in steps), default=1.0))
        workers = Workers(e, self.deployed, state.folder, bound, quiet, steps, longest_s, state.model)
        undo.callback(workers.kill)
        return workers

    def _final_phases(self) -> tuple[FinalPhase, ...]:
        state, e = self.state, self.state.experiment
        operations = state.system.operations(state.model.name, e.settings)
        spec = final_spec(self.deployed.view, state.system, operations, e.op_timeout_s)
        phases = state.workload.final(spec)
        state.note(required_phases=tuple(phase.name for phase in phases if phase.required))
        return phases

    def _load(self) -> None:
        """Load the cluster while the planned faults come and go, and end those that are left."""
        state, e = self.state, self.state.experiment
        self._open()
        with state.phase("load"):
            self.workers.load(self.origin_ns)
            faults = waiting.thread(lambda: self.nemesis.run(state.interrupts.asked), "nemesis")
            self._watch(self.origin_ns + int(e.time_limit_s * NS_PER_S))
        faults.join(timeout=max((row.duration_s for row in state.plan), default=0.0) + FAULT_END_S)
        with state.phase("heal", "the load's time is over; ending the faults that are left"):
            self.nemesis.heal_all(but_left=True)
        if left := sorted(self.nemesis.left_in_force()):
            state.say(f"nemesis  the fault on {' '.join(left)} stays in force until the final reads are over")

    def _open(self) -> None:
        """Tell what is about to happen."""
        state, e = self.state, self.state.experiment
        state.watcher.opening(
            Opening(
                title=f"{e.system} {state.system.version}, {e.workload}, {e.nemesis}, seed {e.seed}",
                changes=state.changes,
                nodes=tuple(self.deployed.cluster.nodes),
                plan=state.plan,
                origin_ns=self.origin_ns,
                time_limit_s=e.time_limit_s,
            )
        )
        state.say(
            f"load     {e.rate:g} {state.changes}/s and reads, {e.clients} clients, {e.time_limit_s:g} s; "
            f"faults: {len(state.plan)} of {e.nemesis}, seed {e.seed}"
        )

    def _recover(self) -> Absent:
        """Load on until every node serves again or will not; what does not is absent from here on."""
        state, e = self.state, self.state.experiment
        absent = Absent()
        self._look_at_observer()
        self.recovery.begin()
        if not state.interrupts.asked.is_set():
            with state.phase("recovery", f"loading for {duration(e.recovery_s)} more, until every node serves again"):
                until_ns = ns_from_now(e.recovery_s)
                self._watch(until_ns, self.recovery.waiting(self.workers, self.sight.latest, self.sight.leads))
                self.recovery.look()
                absent = self.recovery.absent(self.workers.totals(), self.sight.latest(), self.sight.leads())
        self.workers.stop()
        state.interrupts.check_insisted()
        return absent

    def _settle(self, any_absent: bool) -> None:
        state = self.state
        if not isinstance(state.backend, RunsHere):  # its clock stands still meanwhile
            state.judge_loading = start_getting_ready(state.info)
        with state.phase("settle", "waiting until leaders stand still and nothing is on its way"):
            settle(
                state.system,
                self.sight.leads,
                state.info.subjects,
                state.experiment.drain_deadline_s,
                max((self._answered_s(), *(phase.after_s for phase in self.final_phases))),
                state.check_insisted,
                state.say,
                absent=any_absent,
            )

    def _answered_s(self) -> float:
        """How long operations may still be on their way under a fault that is never healed."""
        asked_s = max(self.state.experiment.op_timeout_s, send_deadline_s(self.state.workload))
        return asked_s + TICK_S if self.nemesis.left_in_force() else 0.0

    def _look_at_observer(self) -> None:
        """Say and write down, once, that nobody observes any more."""
        if self.observer.ended and not self._blind:
            self._blind = True
            text = "the observer has ended by itself; its last words are in logs/observer.log"
            self.state.events.emit(Note(time_ns=now_ns(), name=OBSERVER_ENDED, text=text))
            self.state.say(f"warning  {text}")

    def _finish(self, absent: Absent) -> None:
        """The final phases, and what nodes wrote about themselves."""
        state = self.state
        perform_final_phases(
            self.final_phases,
            state.model.key,
            self.workers,
            absent,
            state.experiment.drain_deadline_s,
            state.phase,
            state.check_insisted,
            state.say,
        )
        self._read_replicas(absent)
        self.recovery.look_for_ended()
        self._look_at_observer()
        if self.nemesis.left_in_force():
            with state.phase("end-fault", "the run is over; ending the fault that was never healed"):
                self.nemesis.end_left()
        self.workers.end()
        with state.phase("collect", "copying the nodes' logs"):
            collect_logs(self.deployed.cluster, state.folder, state.events)

    def _read_replicas(self, absent: Absent) -> None:
        """Have each replica say what it holds, where the system's can; what is missing is the checks' business."""
        state = self.state
        if not isinstance(state.system, ShowsReplicaData):
            return
        state.check_insisted()
        timeout_s = GIVE_UP_S / 3 if absent.nodes else GIVE_UP_S
        try:
            with state.phase("replicas", "asking each replica for the data that it holds"):
                self.observer.send(ReadReplicas(timeout_s=timeout_s))
                what = Deadline("replicas to say what they hold", 2 * timeout_s + READ_S)
                answer = self.observer.take(ReplicasRead, what)
        except ChaosError as error:
            state.say(f"warning  replicas are not compared: {error}")
        else:
            for line in answer.failed:
                state.say(f"warning  replicas: {line}")
            many = answer.read + len(answer.failed)
            if many:
                state.say(f"replicas {answer.read} of {many} replicas' data read")

    def _watch(self, until_ns: int, waits: Callable[[], bool] = lambda: False) -> None:
        """Wait for the end of a phase under load and tell how it stands; a dead worker is noted once.

        ``waits``: whether to go on although the time is up.
        """
        state, told_ns, dead = self.state, now_ns(), set[str]()
        while (left_s := (until_ns - now_ns()) / NS_PER_S) > 0 or waits():
            if state.interrupts.asked.wait(min(TICK_S, left_s) if left_s > 0 else TICK_S):
                return
            state.keep_notes()
            state.backend.check()
            for name in set(self.workers.dead()) - dead:
                dead.add(name)
                state.events.emit(Note(time_ns=now_ns(), name="worker-ended", text=name))
                state.say(f"warning  {name} ended by itself; the verdict cannot be PASS")
            if now_ns() - told_ns >= BEAT_S * NS_PER_S:
                told_ns = now_ns()
                state.watcher.beat(self._beat(told_ns))

    def _beat(self, at_ns: int) -> Beat:
        sight = self.sight
        return Beat(now_ns=at_ns, totals=self.workers.totals(), leads=sight.leads(), silent=sight.silent())
