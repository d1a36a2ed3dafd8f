"""SIGSTOP processes, show that every thread stands still until the end, let them go on.

The kernel of a suspended node still completes TCP handshakes, so /proc and not a probe is the proof
(SEMANTICS 26). The module refuses to restart: a target that died while stopped is reported.
"""

from typing import ClassVar

from chaos.core.events import Evidence
from chaos.core.node_notes import ENDED
from cluster.cluster import Node
from cluster.host import Capability
from cluster.nodes import process
from cluster.nodes.process import ProcState
from nemesis.faults.fault import Fact
from nemesis.faults.processes import ProcessFault
from nemesis.plan.catalog import Kind


class Pause(ProcessFault):
    """SIGSTOP to the process of each target and to its whole session."""

    kind: ClassVar[Kind] = Kind.SUSPEND
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS})

    def act(self) -> None:
        """Stop all targets at once; one that is dead is remembered."""

        def stop(node: Node) -> None:
            if self.remember(node).alive:
                process.pause(node)

        self.on_all(stop, "SIGSTOP")

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
        return self.look(self._runs, self._why_not)

    def _why_not(self, name: str, now: ProcState) -> str:
        before = self.before.get(name)
        return ENDED if before is not None and before.alive and not now.alive else "not as it was"

    def _runs(self, name: str, now: ProcState) -> Fact:
        if not now.alive:
            return False, "is dead"
        if name in self.before and not self.same(name, now):
            return False, f"is another process now, pid {now.pid}"
        return not now.stopped, f"pid {now.pid} {'is still stopped' if now.stopped else 'runs'}"
