"""End processes by SIGKILL, show that they are gone and stay gone, start them again at the fault's end.

Does not start what lives. A process that something else starts again, as supervisors do, was ended all the same, but
it did not stay gone: the evidence says so and proves nothing.
"""

from typing import ClassVar, Final

import msgspec

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import DID_NOT_LAST, Evidence
from chaos.core.fault_nature import Colour
from cluster.cluster import Node
from cluster.host import Capability, MachineState
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.bring_back import Restarts, Returned
from nemesis.faults.fault import Fact, Fault, Scene
from nemesis.faults.processes.machine_fault import ENDED, MachineFault, machine_of
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S, ProcessFault
from nemesis.targets.topology import REPLICA

DEAD: Final = "was dead already, so nothing was ended"


class KillContainer(MachineFault):
    """The host of each target ends at once and is started again."""

    name: ClassVar[str] = "kill"
    verb: ClassVar[str] = "killed"
    help: ClassVar[str] = "kill the whole container of {} (docker kill); start it again when the fault ends"
    silences: ClassVar[bool] = True
    restarts: ClassVar[bool] = True
    colour: ClassVar[Colour] = "red"

    def act(self) -> None:
        """End all hosts at once."""
        self._take(self._end, "ending the host")

    def _end(self, node: Node) -> None:
        machine_of(node).kill()

    def verify(self) -> Evidence:
        """Each host that ran before does not run."""
        return self._look(lambda name, now: self._ended(name, now, "ended as a whole"))

    def verify_still(self) -> Evidence:
        """Look at the same, just before the start."""
        return self._look(lambda name, now: self._ended(name, now, "has not run since"))

    def _ended(self, name: str, now: MachineState, word: str) -> Fact:
        before = self._before.get(name)
        if before is None or not before.running:
            return False, ENDED
        if now.running or now.started != before.started:
            return False, "runs"
        return True, word

    def heal(self) -> None:
        """Start every host and its process, and wait until that serves."""

        def start(node: Node) -> None:
            machine_of(node).start()
            self._restarts.bring_back(node)

        self._give_back(start, "starting the host", self._wait_s)

    def verify_healed(self) -> Evidence:
        """Each host runs, and its process with it."""
        self._missing = {}
        return self._look(lambda name, now: self._with_its_process(name) if now.running else self._not_running(name))


class Kill(ProcessFault):
    """SIGKILL to the process of each target and to its whole session."""

    name: ClassVar[str] = "kill"
    verb: ClassVar[str] = "killed"
    help: ClassVar[str] = "kill {} (SIGKILL); start each again when the fault ends"
    silences: ClassVar[bool] = True
    restarts: ClassVar[bool] = True
    recurs: ClassVar[bool] = True
    together: ClassVar[str] = REPLICA
    colour: ClassVar[Colour] = "red"
    container: ClassVar[type[Fault] | None] = KillContainer
    stays_gone: ClassVar[bool] = True
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.RESTART})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._ended: dict[str, str] = {}
        self._ended_ns: dict[str, int] = {}
        self._heal_ns: int | None = None
        self._restarts = Restarts(self.run_id, scene.serve_within_s)
        self._wait_s = scene.serve_within_s + ACTION_TIMEOUT_S

    def act(self) -> None:
        """End all targets at once; one that is dead already is remembered."""
        self.look_and_act(self.remember, lambda node, _: self._act_on(node), "ending the process")

    def _act_on(self, node: Node) -> None:
        """Do it to one target that was looked at."""
        self._ended[node.name] = self._end(node)
        self._ended_ns[node.name] = now_ns()

    def _end(self, node: Node) -> str:
        """End one process; how it went, in words that follow its pid."""
        began_ns = now_ns()
        process.kill(node)
        return f"gone after {(now_ns() - began_ns) / 1e6:.0f} ms"

    def verify(self) -> Evidence:
        """Each process that lived before is gone from /proc, and no other has taken its place."""
        return self.look(lambda name, now: self._gone(name, now, self._ended[name]))

    def verify_still(self) -> Evidence:
        """Look at the same, just before the restart."""
        return self.look(lambda name, now: self._gone(name, now, "still gone"))

    def _gone(self, name: str, now: ProcState, word: str) -> Fact:
        before = self.before.get(name)
        if before is None or not before.alive:
            return False, DEAD
        if now.alive:
            return False, f"pid {now.pid} {'still lives' if self.same(name, now) else 'was started by something else'}"
        if now.successor is not None:
            return False, self._came_back(name, Returned.of(now.successor, now_ns()))
        if not now.gone:
            return False, f"pid {before.pid} is gone, its children {' '.join(map(str, now.others))} live"
        return True, f"pid {before.pid} {word}"

    def _came_back(self, name: str, returned: Returned) -> str:
        if name not in self._ended_ns:
            return f"something else started it as pid {returned.pid}"
        after_s = max(0.0, (returned.begun_ns - self._ended_ns[name]) / NS_PER_S)
        return (
            f"pid {self.before[name].pid} was {self.verb}, and something else started it again as pid {returned.pid} "
            f"after {after_s:.1f} s"
        )

    def heal(self) -> None:
        """Start every target that does not live and wait until it serves."""
        if self._heal_ns is None:
            self._heal_ns = now_ns()
        self.on_all(self._restarts.bring_back, "restart", self._wait_s)

    def verify_healed(self) -> Evidence:
        """Each target lives and has said that it serves; ``details`` say which came back before they were healed."""
        evidence = self.look(self._healed, lambda name, now: self._restarts.why_not(name, alive=now.alive))
        heal_ns, returned = self._heal_ns or 0, self._restarts.returned
        early = {name: self._came_back(name, one) for name, one in returned.items() if one.begun_ns < heal_ns}
        if not early or not self.stays_gone:
            return evidence
        return msgspec.structs.replace(evidence, details=evidence.details | {DID_NOT_LAST: early})

    def _healed(self, name: str, now: ProcState) -> Fact:
        if not now.alive:
            return False, "is dead"
        if now.stopped:
            return False, f"pid {now.pid} is stopped"
        if name not in self._restarts.ready_s:
            return False, f"pid {now.pid} lives but has not said that it serves"
        if self.same(name, now):
            return True, f"pid {now.pid} was never gone and serves"
        if name in self._restarts.returned:
            return True, f"{self._came_back(name, self._restarts.returned[name])}; it serves"
        return True, f"restarted as pid {now.pid}, serves after {self._restarts.ready_s[name]:.1f} s"
