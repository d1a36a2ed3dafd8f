"""Fill memory beside the process, as a neighbour on the machine or in the container does.

A program on each target's host fills so much memory and keeps it in use (``memory_load_program.py``). It takes no more
than it was told, leaves a quarter of the machine's memory to others, and needs no rights and no cgroups: where the host
is a container with a limit, the program counts towards it. Proven by what the kernel says that the program holds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.errors import DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from chaos.core.node_notes import ENDED
from cluster.cluster import Node
from cluster.host import Capability
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Scene
from nemesis.faults.processes import memory_load_program
from nemesis.faults.processes.process_fault import ProcessFault
from nemesis.faults.programs import Resident

MIB: Final = 1 << 20
_PROGRAM: Final = Path(memory_load_program.__file__)
_ENOUGH: Final = 0.95
"""So much of it is in memory at least: the kernel may have swapped a little out for a moment."""


class MemoryLoadParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much."""

    mib: Annotated[
        int,
        Meta(ge=0, le=100_000, description="so much is filled on the host of each target", extra={"unit": "MiB"}),
    ] = 512


class Held(msgspec.Struct, frozen=True):
    """Bytes that the program has in memory, and that are available on the machine."""

    held: int
    available: int


class MemoryLoad(ProcessFault):
    """Memory that is filled beside the process of each target."""

    name: ClassVar[str] = "memory-load"
    verb: ClassVar[str] = "short of memory"
    help: ClassVar[str] = "fill memory beside the process of {}"
    Params: ClassVar[type[msgspec.Struct]] = MemoryLoadParams
    colour: ClassVar[Colour] = "yellow"
    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 5.0
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.PROGRAMS})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._resident = Resident(self.name, _PROGRAM)
        self._available: dict[str, int] = {}

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How much."""
        return f"{' '.join(names)}, beside {params.mib} MiB of filled memory"

    def act(self) -> None:
        """Fill the memory of all targets at once."""

        def start(node: Node) -> None:
            seen = self.remember(node)
            if not seen.alive or seen.pid is None or seen.start_time is None:
                raise DeployError("has no process")
            self._available[node.name] = self._seen(node).available
            self._resident.run(node.host, {"pid": seen.pid, "start": seen.start_time, "mib": self.params.mib})

        if self.params.mib:
            self.on_all(start, "filling memory")

    def verify(self) -> Evidence:
        """The kernel says that all of it is in memory, and in the program's."""
        return self.look(self._filled)

    def verify_still(self) -> Evidence:
        """Look at the same."""
        return self.look(self._filled)

    def _filled(self, name: str, now: ProcState) -> Fact:
        if not self.params.mib:
            return False, "has nothing filled beside it: mib is 0"
        if not (now.alive and now.pid is not None and self.same(name, now)):
            return False, "is not the process that it was"
        node = self.nodes[name]
        if not self._resident.lives(node.host):
            return False, "has no memory filled beside it any more"
        seen, wanted = self._seen(node), self.params.mib * MIB
        said = f"has {seen.held // MIB} of {self.params.mib} MiB filled beside pid {now.pid}"
        before = self._available[name]
        return seen.held >= wanted * _ENOUGH, f"{said}, {seen.available // MIB} MiB available, {before // MIB} before"

    def heal(self) -> None:
        """Give all memory back; may be called again."""
        self.on_all(lambda node: self._resident.end(node.host), "giving memory back")

    def verify_healed(self) -> Evidence:
        """Each process is the one it was, and nothing of the memory is left."""

        def fact(name: str, now: ProcState) -> Fact:
            if not now.alive or now.pid is None:
                return False, "is dead"
            if name in self.before and not self.same(name, now):
                return False, f"is another process now, pid {now.pid}"
            left = self._resident.lives(self.nodes[name].host)
            return not left, f"pid {now.pid} has {'memory filled' if left else 'nothing'} beside it"

        return self.look(fact, lambda name, now: ENDED if name in self.before and not now.alive else "not as it was")

    def _seen(self, node: Node) -> Held:
        return msgspec.json.decode(self._resident.run(node.host, {"look": True}), type=Held)
