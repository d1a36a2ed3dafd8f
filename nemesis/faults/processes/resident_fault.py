"""What faults share that keep a program of ours beside the process of each target, on its host (``programs.Resident``).

The program ends by itself when the process does, so none of them outlives what it was for. A subclass says which
program, what it is told, and how its effect is seen.
"""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.cluster import Node
from cluster.host import Capability
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Scene
from nemesis.faults.processes.process_fault import ProcessFault
from nemesis.faults.programs import Resident


class ResidentFault(ProcessFault):
    """A program beside the process of each target.

    ``program``: its source. ``beside``: what it is to the process, in words ("loops beside it").
    """

    program: ClassVar[Path]
    beside: ClassVar[str]
    colour: ClassVar[Colour] = "yellow"
    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 5.0
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.PROGRAMS})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self.resident = Resident(self.name, self.program)

    @abstractmethod
    def orders(self, node: Node, seen: ProcState) -> Mapping[str, Any]:
        """What the program is told on a host, beside whose process it is; may prepare the host for it.

        Raises:
            ChaosError: it cannot be done to this target.
        """

    def look_before(self, node: Node, seen: ProcState) -> None:
        """Look at a host before anything is done to any: what the proof will be compared with."""

    def idle(self) -> str:
        """Why nothing is done with these parameters, in words that follow a node's name; empty if something is."""
        return ""

    @abstractmethod
    def in_force(self, name: str, now: ProcState) -> Fact:
        """Whether a target that still is the process it was, its program beside it, shows the effect."""

    def act(self) -> None:
        """Start the programs beside all targets at once."""

        def look(node: Node) -> ProcState:
            seen = self.remember_alive(node)
            self.look_before(node, seen)
            return seen

        def start(node: Node, seen: ProcState) -> None:
            told = self.orders(node, seen)
            self.resident.run(node.host, {"pid": seen.pid, "start": seen.start_time, **told})

        if not self.idle():
            self.look_and_act(look, start, f"starting {self.beside}")

    def verify(self) -> Evidence:
        """Each target is the process that it was, its program goes on, and the effect is seen."""
        return self.look(self._seen_in_force)

    def verify_still(self) -> Evidence:
        """Look at the same."""
        return self.verify()

    def _seen_in_force(self, name: str, now: ProcState) -> Fact:
        if why := self.idle():
            return False, why
        if not self.is_it(name, now):
            return False, "is not the process that it was"
        if not self.resident.lives(self.nodes[name].host):
            return False, f"has no {self.beside} any more"
        return self.in_force(name, now)

    def heal(self) -> None:
        """End the programs; may be called again."""
        self.on_all(lambda node: self.resident.end(node.host), f"ending {self.beside}")

    def verify_healed(self) -> Evidence:
        """Each process is the one it was, and no program is left."""
        return self.look_undone(self.undone)

    def undone(self, name: str, now: ProcState) -> Fact:
        """Whether nothing is left beside a process."""
        left = self.resident.lives(self.nodes[name].host)
        return not left, f"pid {now.pid} has {f'{self.beside} still' if left else f'no {self.beside}'}"
