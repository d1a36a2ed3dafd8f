"""End processes, show that they are gone and stay gone, start them again: at the fault's end or at once.

``Kill`` by SIGKILL, ``Stop`` by asking first, ``Restart`` without a pause in between. The module refuses to start
what lives.
"""

from typing import ClassVar, Final

from chaos.core.clock import NS_PER_S, Deadline, now_ns
from chaos.core.events import Evidence
from cluster import process
from cluster.cluster import Node
from cluster.host import Capability
from cluster.process import ProcState
from nemesis.catalog import Kind
from nemesis.fault import Fact, Scene
from nemesis.processes import ACTION_TIMEOUT_S, ProcessFault

READY_TIMEOUT_S: Final = 90.0
DEAD: Final = "was dead already, so nothing was ended"


class Kill(ProcessFault):
    """SIGKILL to the process of each target and to its whole session."""

    kind: ClassVar[Kind] = Kind.KILL
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.RESTART})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._ended: dict[str, str] = {}
        self._started_ns: dict[str, int] = {}
        self._ready_s: dict[str, float] = {}

    def act(self) -> None:
        """End all targets at once; one that is dead already is remembered."""
        self.on_all(self._end, "ending the process")

    def _end(self, node: Node) -> None:
        """End one process, and keep how it went in words that follow its pid."""
        self.remember(node)
        began_ns = now_ns()
        process.kill(node)
        self._ended[node.name] = f"gone after {(now_ns() - began_ns) / 1e6:.0f} ms"

    def _start(self, node: Node) -> None:
        self._started_ns[node.name] = now_ns()
        process.start(node, self.run_id)

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
            return False, f"pid {now.pid} {'still lives' if self.same(name, now) else 'was started by somebody else'}"
        if not now.gone:
            return False, f"pid {before.pid} is gone, its children {' '.join(map(str, now.others))} live"
        return True, f"pid {before.pid} {word}"

    def heal(self) -> None:
        """Start every target that does not live and wait until it serves."""

        def restart(node: Node) -> None:
            if not process.state(node).alive:
                self._start(node)
            process.await_ready(node, Deadline(f"{node.name} to serve again", READY_TIMEOUT_S))
            self._ready_s[node.name] = (now_ns() - self._started_ns.get(node.name, now_ns())) / NS_PER_S

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


class Stop(Kill):
    """SIGTERM to the process of each target and to its session, SIGKILL to what has not ended 10 s later."""

    kind: ClassVar[Kind] = Kind.STOP

    def _end(self, node: Node) -> None:
        self.remember(node)
        began_ns = now_ns()
        how = "ended by itself" if process.stop(node) else "did not end by itself and was killed"
        self._ended[node.name] = f"{how} after {(now_ns() - began_ns) / NS_PER_S:.1f} s"


class Restart(Stop):
    """The same, and each process is started again at once, whatever has become of the others."""

    kind: ClassVar[Kind] = Kind.RESTART

    def _end(self, node: Node) -> None:
        super()._end(node)
        self._start(node)

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
        return now.alive, f"{before_that}pid {now.pid} {'lives' if now.alive else 'is dead'}"
