"""Kill processes again and again: each is started, lives for a moment, and is killed, until the fault's end.

With a short life it is killed while it starts: before it serves, while it reads what it had written.
"""

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.cluster import Node
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.background import Background
from nemesis.faults.fault import Fact, Fault, Scene
from nemesis.faults.processes.kill import DEAD, Kill
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S

_LEAST_KILLS: Final = 2
_PROOF_S: Final = 20.0


class CrashLoopParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it goes."""

    up_s: Annotated[
        float, Meta(ge=0.01, le=60, description="how long it lives after each start", extra={"unit": "s"})
    ] = 0.5
    down_s: Annotated[
        float, Meta(ge=0, le=60, description="how long it is gone after each kill", extra={"unit": "s"})
    ] = 0.5


class CrashLoop(Kill):
    """Each target has a loop of its own; the last start is the healing's, and waits until it serves."""

    name: ClassVar[str] = "crash-loop"
    verb: ClassVar[str] = "killed again and again"
    help: ClassVar[str] = "kill {} (SIGKILL) and start again, over and over until the fault ends"
    Params: ClassVar[type[msgspec.Struct]] = CrashLoopParams
    silences: ClassVar[bool] = False
    recurs: ClassVar[bool] = False
    together: ClassVar[str] = ""
    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 5.0
    colour: ClassVar[Colour] = "brown"
    container: ClassVar[type[Fault] | None] = None
    stays_gone: ClassVar[bool] = False

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._loops = {name: Background(f"crash loop of {name}") for name in self.nodes}
        self._killed: dict[str, list[tuple[int | None, int | None]]] = {name: [] for name in self.nodes}

    def act(self) -> None:
        """Kill all targets at once; one that is dead already is remembered. Then begin the loops."""
        super().act()
        for name, node in self.nodes.items():
            if self.before[name].alive:
                self._loops[name].start(lambda node=node: self._loop(node))  # type: ignore[misc]

    def _end(self, node: Node) -> str:
        seen = process.state(node)
        said = super()._end(node)
        if seen.alive:
            self._killed[node.name].append((seen.pid, seen.start_time))
        return said

    def _loop(self, node: Node) -> None:
        loop = self._loops[node.name]
        while not loop.sleep(self.params.down_s):
            self._restarts.run_again(node)
            if loop.sleep(self.params.up_s):
                return
            self._end(node)

    def verify(self) -> Evidence:
        """Wait until each target was killed twice, each time another process."""
        for name, loop in self._loops.items():
            loop.until(lambda name=name: len(set(self._killed[name])) >= _LEAST_KILLS, _PROOF_S)  # type: ignore[misc]
        return self.look(self._often)

    def verify_still(self) -> Evidence:
        """How often it was by now."""
        return self.look(self._often)

    def _often(self, name: str, now: ProcState) -> Fact:  # noqa: ARG002 - it lives or does not, as it happens
        before = self.before.get(name)
        if before is None or not before.alive:
            return False, DEAD
        times = len(set(self._killed[name]))
        why = self._loops[name].failed
        return times >= _LEAST_KILLS and not why, f"killed {times} times, each time another process{why and f'; {why}'}"

    def heal(self) -> None:
        """End the loops, start every target that does not live and wait until it serves."""
        for loop in self._loops.values():
            loop.end(ACTION_TIMEOUT_S)
        super().heal()
