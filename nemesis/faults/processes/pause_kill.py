"""SIGSTOP processes and kill them where they stand at the fault's end: they never go on, and start again."""

from typing import ClassVar

from chaos.core.events import Evidence
from cluster.cluster import Node
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Fault
from nemesis.faults.processes.kill import DEAD, Kill


class PauseKill(Kill):
    """Others see a node that is silent with its connections open, and then resets."""

    name: ClassVar[str] = "pause-kill"
    verb: ClassVar[str] = "suspended and killed"
    help: ClassVar[str] = "pause {} (SIGSTOP); kill (SIGKILL) and start again when the fault ends"
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    in_all: ClassVar[bool] = False
    container: ClassVar[type[Fault] | None] = None

    def _act_on(self, node: Node) -> None:
        if self.before[node.name].alive:
            process.pause(node)

    def verify(self) -> Evidence:
        """Every thread of each target is in state T, and the target is the process it was."""
        return self.look(self._stands)

    def verify_still(self) -> Evidence:
        """Look at the same, just before it is killed."""
        return self.look(self._stands)

    def _stands(self, name: str, now: ProcState) -> Fact:
        before = self.before.get(name)
        if before is None or not before.alive:
            return False, DEAD
        if not (now.alive and self.same(name, now)):
            return False, f"pid {before.pid} is gone"
        return now.stopped, f"pid {now.pid} {'' if now.stopped else 'not '}every thread in /proc state T"

    def heal(self) -> None:
        """Kill the process that was stopped, once; then start every target that does not live."""

        def end(node: Node) -> None:
            if self.same(node.name, process.state(node)):
                process.kill(node)

        self.on_all(end, "ending the process")
        super().heal()

    def _healed(self, name: str, now: ProcState) -> Fact:
        before = self.before.get(name)
        if before is not None and before.alive and self.same(name, now):
            return False, f"pid {now.pid} was never ended"
        return super()._healed(name, now)
