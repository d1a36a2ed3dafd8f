"""SIGKILL processes, show that they are gone and stay gone, start them again at the fault's end.

The module refuses to restart what lives.
"""

from typing import ClassVar, Final

from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.events import Evidence
from cluster import process
from cluster.cluster import Node
from cluster.host import Capability
from cluster.process import ProcState
from nemesis.catalog import Kind
from nemesis.fault import Scene
from nemesis.processes import ACTION_TIMEOUT_S, Fact, ProcessFault

READY_TIMEOUT_S: Final = 90.0


class Kill(ProcessFault):
    """SIGKILL to the process of each target and to its whole session."""

    kind: ClassVar[Kind] = Kind.KILL
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.RESTART})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._took_ms: dict[str, float] = {}
        self._ready_s: dict[str, float] = {}

    def act(self) -> None:
        """Kill all targets at once; one that is dead already is remembered."""

        def kill(node: Node) -> None:
            self.remember(node)
            began_ns = now_ns()
            process.kill(node)
            self._took_ms[node.name] = (now_ns() - began_ns) / 1e6

        self.on_all(kill, "SIGKILL")

    def verify(self) -> Evidence:
        """Each process that lived before is gone from /proc, and no other has taken its place."""
        return self.look(lambda name, now: self._gone(name, now, f"gone after {self._took_ms[name]:.0f} ms"))

    def verify_still(self) -> Evidence:
        """Look at the same, just before the restart."""
        return self.look(lambda name, now: self._gone(name, now, "still gone"))

    def _gone(self, name: str, now: ProcState, word: str) -> Fact:
        before = self.before.get(name)
        if before is None or not before.alive:
            return False, "was dead already, so nothing was killed"
        if now.alive:
            return False, f"pid {now.pid} {'still lives' if self.same(name, now) else 'was started by somebody else'}"
        if not now.gone:
            return False, f"pid {before.pid} is gone, its children {' '.join(map(str, now.others))} live"
        return True, f"pid {before.pid} {word}"

    def heal(self) -> None:
        """Start every target that does not live and wait until it serves."""

        def restart(node: Node) -> None:
            began_ns = now_ns()
            if not process.state(node).alive:
                process.start(node, self.run_id)
            process.await_ready(node, Deadline(f"{node.name} to serve again", READY_TIMEOUT_S))
            self._ready_s[node.name] = (now_ns() - began_ns) / NS_PER_S

        self.on_all(restart, "restart", READY_TIMEOUT_S + ACTION_TIMEOUT_S)

    def verify_healed(self) -> Evidence:
        """Each target lives and has said that it serves."""
        return self.look(self._healed)

    def _healed(self, name: str, now: ProcState) -> Fact:
        if not now.alive:
            return False, "is dead"
        if now.stopped:
            return False, f"pid {now.pid} is stopped"
        if name not in self._ready_s:
            return False, f"pid {now.pid} lives but has not said that it serves"
        if self.same(name, now):
            return True, f"pid {now.pid} was never gone and serves"
        return True, f"restarted as pid {now.pid}, serves after {self._ready_s[name]:.1f} s"
