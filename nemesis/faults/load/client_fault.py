"""What faults share that are done to the processes in which clients live: which these are, and looks at them by /proc.

A process is known by its pid on the clients' host and by its start time. The load goes on in the others.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Final, NamedTuple

from msgspec import Meta

from chaos.core.errors import ChaosError
from chaos.core.fault_nature import Hits
from cluster.host import Capability
from cluster.nodes.process import COMMON
from nemesis.faults.fault import Fault, LoadProcesses, Scene
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.targets.selectors import Selector

Share = Annotated[float, Meta(ge=0, le=1, description="the share of them; 0 does nothing")]
# $1 the host's home, then pids: each with the start time of a process that lives.
_LOOK: Final = COMMON + 'shift; for pid; do echo "$pid $(begun "$pid")"; done\n'


class Living(NamedTuple):
    """A process that lives: its pid on the clients' host, and when it began."""

    pid: int
    start: int


class ClientFault(Fault):
    """The processes of clients; a subclass says what is done to them."""

    hits: ClassVar[Hits] = "client"
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.PROGRAMS})
    selectors: ClassVar[tuple[Selector, ...]] = ()
    in_all: ClassVar[bool] = False

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self.load = scene.load
        self.host = scene.client

    def processes(self) -> LoadProcesses:
        """Those in which clients live. Raises ChaosError: there are none that may be touched."""
        if self.load.processes is None or not all(self.load.processes.pids().values()):
            raise ChaosError("clients live in no processes of their own here")
        return self.load.processes

    def living(self) -> dict[str, Living]:
        """Each process that lives, by the clients' word and by /proc.

        Raises:
            ChaosError: as ``processes``; or /proc cannot be looked at.
        """
        pids = self.processes().pids()
        begun = self.begun(list(pids.values()))
        return {name: Living(pid, begun[pid]) for name, pid in pids.items() if pid in begun}

    def begun(self, pids: Sequence[int]) -> Mapping[int, int]:
        """When processes began, of those that live. Raises ChaosError: /proc cannot be looked at."""
        argv = ("sh", "-c", _LOOK, "sh", self.host.home, *map(str, pids))
        done = self.host.run(*argv, timeout_s=ACTION_TIMEOUT_S).check("looking at the clients' processes")
        found = (line.split() for line in done.text.splitlines())
        return {int(words[0]): int(words[1]) for words in found if len(words) > 1}


def first_of(names: Sequence[str], share: float) -> tuple[str, ...]:
    """Pure: a share of some names, rounded up."""
    return tuple(sorted(names)[: math.ceil(share * len(names))])
