"""SIGSTOP processes, show that every thread stands still until the end, let them go on.

The kernel of a suspended node still completes TCP handshakes, so /proc and not a probe is the proof
(SEMANTICS 26). Does not restart: a target that died while stopped is reported.
"""

from typing import ClassVar

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from chaos.core.node_notes import ENDED
from cluster.cluster import Node
from cluster.host import Capability, MachineState
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Fault, Scene
from nemesis.faults.processes.machine_fault import ENDED as ENDED_BEFORE
from nemesis.faults.processes.machine_fault import MachineFault, machine_of
from nemesis.faults.processes.process_fault import ProcessFault


class SuspendContainer(MachineFault):
    """The host of each target stands still and goes on."""

    name: ClassVar[str] = "suspend"
    verb: ClassVar[str] = "suspended"
    help: ClassVar[str] = "freeze the whole container of {} (docker pause); resume when the fault ends"
    silences: ClassVar[bool] = True
    colour: ClassVar[Colour] = "yellow"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._frozen_ns: dict[str, int] = {}

    def act(self) -> None:
        """Freeze all hosts at once."""

        def freeze(node: Node) -> None:
            machine_of(node).freeze()
            self._frozen_ns[node.name] = now_ns()

        self._take(freeze, "freezing the host")

    def verify(self) -> Evidence:
        """Each host is frozen, and is the one it was."""
        return self._look(self._stands)

    def verify_still(self) -> Evidence:
        """Look at the same, just before they go on."""
        return self._look(self._stands)

    def _stands(self, name: str, now: MachineState) -> Fact:
        before = self._before.get(name)
        if before is None or not before.running:
            return False, ENDED_BEFORE
        if now.started != before.started or not now.running:
            return False, "is not the host that it was"
        stands_s = (now_ns() - self._frozen_ns.get(name, now_ns())) / NS_PER_S
        return now.frozen, f"is frozen as a whole for {stands_s:.1f} s" if now.frozen else "runs"

    def heal(self) -> None:
        """Let every host go on; fine if it was never frozen, or has ended."""
        self._give_back(lambda node: machine_of(node).thaw(), "thawing the host")

    def verify_healed(self) -> Evidence:
        """Each host runs, and its process has lived through it."""
        self._missing = {}

        def healed(name: str, now: MachineState) -> Fact:
            runs = now.running and not now.frozen
            return self._with_its_process(name) if runs else self._not_running(name)

        return self._look(healed)

    def _why_not(self, name: str) -> str:
        """It lived when its host was frozen, and nothing has ended it."""
        return ENDED if name in self._frozen_ns else "not as it was"


class Suspend(ProcessFault):
    """SIGSTOP to the process of each target and to its whole session."""

    name: ClassVar[str] = "suspend"
    verb: ClassVar[str] = "suspended"
    help: ClassVar[str] = "pause {} (SIGSTOP); resume when the fault ends (SIGCONT)"
    silences: ClassVar[bool] = True
    recurs: ClassVar[bool] = True
    colour: ClassVar[Colour] = "yellow"
    container: ClassVar[type[Fault] | None] = SuspendContainer
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS})

    def act(self) -> None:
        """Stop all targets at once; one that is dead is remembered."""

        def stop(node: Node, seen: ProcState) -> None:
            if seen.alive:
                process.pause(node)

        self.look_and_act(self.remember, stop, "SIGSTOP")

    def verify(self) -> Evidence:
        """Every thread of each target is in state T, and the target is the process it was."""
        return self.look(lambda name, now: self._stopped(name, now, "every thread"))

    def verify_still(self) -> Evidence:
        """Look at the same, just before they go on."""
        return self.look(lambda name, now: self._stopped(name, now, "still every thread"))

    def _stopped(self, name: str, now: ProcState, words: str) -> Fact:
        before = self.before.get(name)
        if before is None or not before.alive:
            return False, "was dead already, so nothing was stopped"
        if not (now.alive and self.same(name, now)):
            return False, f"pid {before.pid} is gone"
        return now.stopped, f"pid {now.pid} {words if now.stopped else 'not every thread'} in /proc state T"

    def heal(self) -> None:
        """SIGCONT to every target; fine if it runs, was never stopped, or is dead."""

        def let_go(node: Node) -> None:
            if process.resume(node).successor is not None:
                process.adopt(node)  # it died while stopped and something else started another: that is the node's now

        self.on_all(let_go, "SIGCONT")

    def verify_healed(self) -> Evidence:
        """Each target runs, and is the process it was."""
        return self.look_undone(self._runs)

    def _runs(self, name: str, now: ProcState) -> Fact:  # noqa: ARG002 - each is looked at alike
        return not now.stopped, f"pid {now.pid} {'is still stopped' if now.stopped else 'runs'}"
