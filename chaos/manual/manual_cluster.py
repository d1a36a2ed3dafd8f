"""A cluster that is kept up by hand: ``python -m chaos.manual.manual_cluster FOLDER``, or the same in the foreground.

It is deployed as for a run, without load; faults come when they are asked for, one at a time, chosen, proven and healed
by what a run uses. Leaving for any reason heals and takes the cluster down; what a ``kill -9`` leaves is ``chaos
clean``'s. Does not judge: no operation was asked of the cluster that could be lost.
"""

import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from chaos.core.clock import Deadline, now_ns
from chaos.core.errors import ChaosError, UsageError
from chaos.core.events import RUN_EVENTS, Event, EventLog, Fault
from chaos.manual.control_socket import ControlSocket, Done, NodeStatus, Question
from chaos.options.experiment import Experiment
from chaos.options.system_under_test import system_of
from chaos.run.deploy import Deployed, bring_up, prepare, remove_names, start_observer
from chaos.run.interrupts import Interrupts
from chaos.worker.messages import Observe, Seen
from chaos.worker.pipe import Inside
from cluster.cluster import Node
from cluster.leaders import Lead, Leads, leads_of
from cluster.nodes import process
from cluster.system import System
from nemesis.check_hosts import check_hosts
from nemesis.faults.fault import on_each
from nemesis.faults.registry import faults_on
from nemesis.plan.choose_targets import choose
from nemesis.plan.plan import Row, make_plan
from nemesis.runner import Nemesis
from nemesis.targets.topology import Topology

FOREVER_S: Final = 7 * 86400.0
"""A fault without a duration is healed by itself after a week."""

FIRST_LOOK_S: Final = 15.0
LOOK_TIMEOUT_S: Final = 10.0
LEADER_TIMEOUT_S: Final = 10.0
IN_FORCE_TIMEOUT_S: Final = 120.0
_AT_ONCE_S: Final = 1e-3
_TICK_S: Final = 0.5
_STATES: Final = {(True, False): "running", (True, True): "suspended"}

Say = Callable[[str], None]


class _Injected:
    """The fault in force, or the last one."""

    def __init__(self, row: Row, nemesis: Nemesis) -> None:
        self.row = row
        self.nemesis = nemesis
        self.stop = threading.Event()
        self.targets: tuple[str, ...] = ()
        self.thread = threading.Thread(target=nemesis.run, args=(self.stop,), name="nemesis", daemon=True)

    def over(self) -> bool:
        return not self.thread.is_alive() and not self.nemesis.unhealed()


class Standing:
    """One cluster kept up. ``execute`` returns when it is down again."""

    def __init__(self, experiment: Experiment, backend: Any, folder: Path, say: Say) -> None:
        self.experiment = experiment
        self.folder = folder
        self._backend = backend
        self._say = say
        self._interrupts = Interrupts(lambda _text: say("going down"))
        self._system: System = system_of(experiment)
        self._seen = threading.Condition()
        self._stages: list[Fault] = []
        self._acting = threading.Lock()
        self._injected: _Injected | None = None
        self._count = 0
        self._socket: ControlSocket | None = None
        self._events = EventLog(folder / "history" / RUN_EVENTS, self._told)

    def execute(self) -> None:
        """Deploy, serve the control socket until somebody says down or interrupts, heal, take everything down.

        Raises:
            ChaosError: it did not come up, or a host went away.
        """
        e = self.experiment
        with self._interrupts.listening(), ExitStack() as undo:
            undo.callback(self._close_socket)  # the last thing to go: who said down waits for it
            undo.callback(self._events.close)
            topology = self._system.topology(e.settings)
            self._backend.prepare(topology, self._say)
            artefacts = None if e.reuse else self._system.fetch(self._say)
            self._say(f"deploy   {e.system} {self._system.version}: {' '.join(s.name for s in topology)}")
            self._deployed: Deployed = bring_up(e, self._system, self._backend, self.folder, artefacts, undo)
            self._observer: Inside = start_observer(e, self._deployed, self.folder)
            undo.callback(self._observer.close)
            if e.reuse:
                undo.callback(self._remove_names)
            for text in prepare(e, self._observer, e.ready_deadline_s, self._interrupts.check_asked).warnings:
                self._say(f"warning  {text}")
            self._observer.send(Observe())
            first = Deadline("every node to be observed", FIRST_LOOK_S)
            while (seen := self._observer.latest(Seen)) is None or len(seen.observations) < len(topology):
                first.check()
                Deadline("a moment", _TICK_S / 5).wait()
            undo.callback(self._heal)
            self._socket = ControlSocket(self.folder, self._answer)
            self._say("ready    chaos status, inject, heal and down speak with it")
            self._socket.serve()  # not before: who is answered may rely on the line above
            while not self._interrupts.asked.wait(_TICK_S):
                self._keep_notes()
                self._backend.check()

    def _remove_names(self) -> None:
        note = remove_names(self._observer, self._deployed.view)
        self._events.emit(note)
        self._say(f"cluster  {note.text}")

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _keep_notes(self) -> None:
        for note in self._backend.notes():
            self._events.emit(note)
            if note.data.get("warning"):
                self._say(f"warning  {note.text}")

    def _told(self, event: Event) -> None:
        if isinstance(event, Fault):
            with self._seen:
                self._stages.append(event)
                self._seen.notify_all()

    def _leads(self) -> Leads:
        seen = self._observer.latest(Seen)
        latest = {one.node: one for one in seen.observations} if seen is not None else {}
        return leads_of(latest, self._deployed.cluster.subjects)

    def _answer(self, ask: Question, say: Say) -> Done:
        if ask.verb == "status":
            return Done(nodes=self._status())
        if ask.verb == "down":
            self._interrupts.asked.set()
            return Done()
        if self._interrupts.asked.is_set():
            raise UsageError("the cluster is going down")
        if not self._acting.acquire(timeout=_TICK_S):
            raise UsageError("another inject or heal is under way; ask again")
        try:
            return self._inject(ask, say) if ask.verb == "inject" else self._healed(say)
        finally:
            self._acting.release()

    def _status(self) -> tuple[NodeStatus, ...]:
        led: dict[str, list[Lead]] = {}
        for lead in self._leads().values():
            led.setdefault(lead.leader or "", []).append(lead)
        injected = self._injected
        states = on_each(
            self._deployed.cluster.nodes,
            lambda name: _state(self._deployed.cluster.nodes[name]),
            "a look at the process",
            LOOK_TIMEOUT_S,
        )
        hit = injected.targets if injected is not None and not injected.over() else ()
        return tuple(
            NodeStatus(
                node=name,
                role=node.info.role,
                address=node.info.address,
                state=states.good().get(name) or f"unknown: {states.bad().get(name, '')}",
                leads=tuple(lead.subject for lead in led.get(name, [])),
                epoch=led[name][0].epoch if len(led.get(name, [])) == 1 else None,
                fault=injected.row.name if injected is not None and name in hit else "",
            )
            for name, node in self._deployed.cluster.nodes.items()
        )

    def _inject(self, ask: Question, say: Say) -> Done:
        if self._injected is not None and not self._injected.over():
            raise UsageError(f"{self._injected.row.name} is in force; chaos heal first")
        row = self._row(ask)
        faults = faults_on(self.experiment.kill)
        if faults[row.fault].arming is not None:
            raise UsageError(f"{row.name} must prepare hosts before nodes start; give it to chaos run --nemesis")
        check_hosts([row], self._deployed.cluster, faults)
        nemesis = Nemesis(
            [row],
            self._deployed.cluster,
            self._leads,
            self._events,
            now_ns(),
            self._deployed.client_host,
            faults,
        )
        with self._seen:
            self._stages.clear()
        self._injected = _Injected(row, nemesis)
        self._injected.thread.start()
        stage, *_ = self._await(("active", "broke", "skipped", "healed"), IN_FORCE_TIMEOUT_S)
        self._injected.targets = stage.targets
        return _said_of(stage, say)

    def _row(self, ask: Question) -> Row:
        """The one row that is asked for; its leader, if it needs one, is known."""
        self._count += 1
        duration_s = ask.duration_s or FOREVER_S
        nodes = [node.info for node in self._deployed.cluster.nodes.values()]
        rows = make_plan(
            ask.nemesis,
            self._system.roles,
            nodes,
            interval_s=_AT_ONCE_S,
            duration_s=duration_s,
            time_limit_s=_AT_ONCE_S + duration_s,
            seed=ask.seed,
            fault_nodes=ask.fault_nodes,
            subjects=self._deployed.cluster.subjects,
        )
        if len(rows) != 1:
            raise UsageError("inject needs one fault; noop is none")
        row = msgspec.structs.replace(rows[0], row=self._count)
        topology = Topology.of(nodes, self._system.roles, self._deployed.cluster.subjects)
        deadline = Deadline("a leader to be known", LEADER_TIMEOUT_S)
        while choose(row, topology, self._leads()) is None:
            deadline.check()
            Deadline("a moment", _TICK_S).wait()
        return row

    def _await(self, stages: tuple[str, ...], timeout_s: float) -> list[Fault]:
        """The events so far that are of these stages, in order, as soon as there is one."""
        deadline = Deadline(f"the fault to be {stages[0]}", timeout_s)
        with self._seen:
            while True:
                found = [event for event in self._stages if event.stage in stages]
                if found:
                    return found
                deadline.check()
                self._seen.wait(min(1.0, deadline.remaining_s()))

    def _healed(self, say: Say) -> Done:
        if self._injected is None or self._injected.over():
            say("no fault is in force")
            return Done()
        self._heal()
        *_, last = self._await(("healed",), IN_FORCE_TIMEOUT_S)  # a heal that is not proven is tried again
        return _said_of(last, say)

    def _heal(self) -> None:
        """Heal what is in force; safe when nothing is."""
        injected = self._injected
        if injected is not None:
            injected.stop.set()
            injected.thread.join(IN_FORCE_TIMEOUT_S)
            injected.nemesis.heal_all()


def _state(node: Node) -> str:
    state = process.state(node)
    if state.successor is not None:
        return f"running as pid {state.successor.pid}, started by something else"
    return _STATES.get((state.alive, state.stopped), "dead")


def _said_of(stage: Fault, say: Say) -> Done:
    """What became of a fault or its healing, in a line; exit code 0 only if it is proven."""
    seen = stage.evidence
    text = "; ".join(filter(None, (stage.description, stage.note, seen.summary if seen is not None else "")))
    proven = seen is not None and seen.proven
    say(f"{stage.stage:<8} {stage.name}{'' if proven else ' (not proven)'}: {text}")
    return Done(code=0 if proven else 255 if stage.stage == "broke" else 2)


def keep_up(experiment: Experiment, backend: Any, folder: Path, say: Say) -> int:
    """Keep a cluster up in this process until it is told to go down; returns the exit code."""
    try:
        Standing(experiment, backend, folder, say).execute()
    except ChaosError as error:
        say(f"broke    {error}")
        return error.exit_code
    say("down")
    return 0


def _main(folder: Path) -> int:
    from chaos.backend_choice import choose_backend
    from chaos.options.resolve import experiment_of

    def say(text: str) -> None:
        print(text, flush=True)

    experiment = experiment_of({"driver": str(folder / "config.yaml")})
    backend, why = choose_backend(experiment.backend, experiment.backend_options)
    say(f"backend  {backend.name}{why}")
    return keep_up(experiment, backend, folder, say)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
