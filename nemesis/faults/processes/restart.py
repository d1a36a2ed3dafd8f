"""Ask processes to end and start each again at once; show that each lives and is another than before."""

from typing import ClassVar

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.cluster import Node
from cluster.host import MachineState
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Fault
from nemesis.faults.processes.kill import DEAD, KillContainer
from nemesis.faults.processes.machine_fault import ENDED, machine_of
from nemesis.faults.processes.stop import Stop


class RestartContainer(KillContainer):
    """The host of each target is asked to end and started again at once, and its process with it."""

    name: ClassVar[str] = "restart"
    verb: ClassVar[str] = "restarted"
    help: ClassVar[str] = (
        "stop the whole container of {} (docker stop) and start it again at once; "
        "it is away while it ends and starts, and when the fault ends the run waits until it serves"
    )
    silences: ClassVar[bool] = False
    colour: ClassVar[Colour] = "brown"
    ends_itself: ClassVar[bool] = True

    def _end(self, node: Node) -> None:
        machine_of(node).restart(process.GRACE_S)
        self._restarts.start(node)

    def verify(self) -> Evidence:
        """Each host that ran before is another now."""
        return self._look(lambda name, now: self._another(name, now, "was started anew as a whole"))

    def verify_still(self) -> Evidence:
        """Look at the same, just before its process is waited for."""
        return self._look(lambda name, now: self._another(name, now, "runs"))

    def _another(self, name: str, now: MachineState, word: str) -> Fact:
        before = self._before.get(name)
        if before is None or not before.running:
            return False, ENDED
        if now.started == before.started:
            return False, "was never ended"
        return now.running, word if now.running else "does not run"


class Restart(Stop):
    """SIGTERM as ``Stop`` does it, and each process is started again at once, whatever has become of the others."""

    name: ClassVar[str] = "restart"
    verb: ClassVar[str] = "restarted"
    help: ClassVar[str] = (
        "stop {} (SIGTERM, and SIGKILL after 10 s) and start again at once; "
        "each is away while it ends and starts, and when the fault ends the run waits until it serves"
    )
    silences: ClassVar[bool] = False
    colour: ClassVar[Colour] = "brown"
    ends_itself: ClassVar[bool] = True
    container: ClassVar[type[Fault] | None] = RestartContainer
    stays_gone: ClassVar[bool] = False

    def _act_on(self, node: Node) -> None:
        super()._act_on(node)
        self._restarts.run_again(node)

    def verify(self) -> Evidence:
        """Each process that lived before is gone, and another of ours lives."""

        def fact(name: str, now: ProcState) -> Fact:
            return self._another(name, now, f"pid {self.before[name].pid} {self._ended[name]}, ")

        return self.look(fact)

    def verify_still(self) -> Evidence:
        """Look at the same, just before they are waited for."""
        return self.look(lambda name, now: self._another(name, now, ""))

    def _another(self, name: str, now: ProcState, before_that: str) -> Fact:
        before = self.before.get(name)
        if before is None or not before.alive:
            return False, DEAD
        if self.same(name, now):
            return False, f"pid {now.pid} was never ended"
        by = ", started by something else," if name in self._restarts.returned else ""
        return now.alive, f"{before_that}pid {now.pid}{by} {'lives' if now.alive else 'is dead'}"
