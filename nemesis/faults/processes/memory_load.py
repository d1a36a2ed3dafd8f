"""Fill memory beside the process, as a neighbour on the machine or in the container does.

A program on each target's host fills so much memory and keeps it in use (``memory_load_program.py``). It takes no more
than it was told, leaves a quarter of the machine's memory to others, and needs no rights and no cgroups: where the host
is a container with a limit, the program counts towards it. Proven by what the kernel says that the program holds.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.errors import ChaosError
from cluster.cluster import Node
from cluster.host import Host
from cluster.nodes.process import COMMON
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Scene
from nemesis.faults.processes import memory_load_program
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S
from nemesis.faults.processes.resident_fault import ResidentFault
from nemesis.faults.programs import Resident

MIB: Final = 1 << 20
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


class MemoryLoad(ResidentFault):
    """Memory that is filled beside the process of each target."""

    name: ClassVar[str] = "memory-load"
    verb: ClassVar[str] = "short of memory"
    help: ClassVar[str] = "fill memory beside the process of {}"
    Params: ClassVar[type[msgspec.Struct]] = MemoryLoadParams
    program: ClassVar[Path] = Path(memory_load_program.__file__)
    beside: ClassVar[str] = "memory filled beside it"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._available: dict[str, int] = {}

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How much."""
        return f"{' '.join(names)}, beside {params.mib} MiB of filled memory"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Fill a MiB beside the first process of the host, and look at it."""
        resident = Resident(cls.name, cls.program)
        start = host.run("sh", "-c", f"{COMMON}begun 1", "sh", host.home, timeout_s=ACTION_TIMEOUT_S).text
        try:
            resident.run(host, {"pid": 1, "start": int(start or 0), "mib": 1})
            held = msgspec.json.decode(resident.run(host, {"look": True}), type=Held).held
        except ChaosError as error:
            return f"{' '.join(str(error).split())}; free some memory"
        finally:
            resident.end(host)
        return None if held >= MIB * _ENOUGH else f"of 1 MiB {held} bytes are in memory; free some memory"

    def idle(self) -> str:
        """Nothing is to be filled."""
        return "" if self.params.mib else "has nothing filled beside it: mib is 0"

    def look_before(self, node: Node, seen: ProcState) -> None:  # noqa: ARG002 - the host's
        """See how much is available."""
        self._available[node.name] = self._amounts(node).available

    def orders(self, node: Node, seen: ProcState) -> Mapping[str, Any]:  # noqa: ARG002 - the same for all
        """How much."""
        return {"mib": self.params.mib}

    def in_force(self, name: str, now: ProcState) -> Fact:
        """The kernel says that all of it is in memory, and in the program's."""
        seen, wanted = self._amounts(self.nodes[name]), self.params.mib * MIB
        said = f"has {seen.held // MIB} of {self.params.mib} MiB filled beside pid {now.pid}"
        before = self._available[name]
        return seen.held >= wanted * _ENOUGH, f"{said}, {seen.available // MIB} MiB available, {before // MIB} before"

    def _amounts(self, node: Node) -> Held:
        return msgspec.json.decode(self.resident.run(node.host, {"look": True}), type=Held)
