"""Let processes run only when nobody else wants to: a low priority, and loops of the usual one on the same processor.

As with cpu-load each target's process is confined to one processor, where loops run beside it. Its threads, and its
session where the kernel weighs sessions, are made nice as well, so that it gets next to nothing
(``priority_program.py``). Who has lowered a priority may raise it again only with rights, or by the session; where
neither can be undone nothing is done. Proven by a loop of that priority beside one of the usual.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.errors import ChaosError, DeployError
from chaos.core.events import Evidence
from cluster.cluster import Node
from cluster.host import Host
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Scene
from nemesis.faults.processes import priority_program
from nemesis.faults.processes.cpu_load import CpuLoad
from nemesis.faults.programs import run_program

_PROGRAM: Final = Path(priority_program.__file__)
_WATCH_S: Final = 1.0
_STEP: Final = 1.25
"""The kernel gives a thread so many times as much as one that is nicer by 1."""

_LEAST_NICE: Final = 5
HELP: Final = "run as root, or `sysctl -w kernel.sched_autogroup_enabled=1` as root"


class PriorityParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How low, and beside how many."""

    nice: Annotated[int, Meta(ge=0, le=19, description="how nice its threads are, 5 at least; 0 does nothing")] = 19
    hogs: Annotated[int, Meta(ge=1, le=64, description="so many loops of the usual priority compete with it")] = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be told from the usual."""
        if 0 < self.nice < _LEAST_NICE:
            raise ValueError(f"nice {self.nice}: give 0, or {_LEAST_NICE} to 19")


class Standing(msgspec.Struct, frozen=True):
    """How nice the process' threads are, each value once, and its session, and where any of them may run.

    ``autogroup``: None where sessions are not weighed.
    """

    nice: tuple[int, ...]
    autogroup: int | None
    cpus: tuple[int, ...] = ()

    def values(self, ways: Sequence[str]) -> dict[str, int]:
        """As the program sets it, of the ways that can be undone."""
        found = {"nice": min(self.nice, default=0), "autogroup": self.autogroup or 0}
        return {way: found[way] for way in ways}


class Seen(Standing, frozen=True, kw_only=True):
    """Also the shares that loops get with such values and without, and how long the process ran and waited, s."""

    got: float
    usual: float
    ran: float
    waited: float


class Priority(CpuLoad):
    """A low priority for the process of each target, beside loops of the usual one."""

    name: ClassVar[str] = "priority"
    verb: ClassVar[str] = "of low priority"
    help: ClassVar[str] = "lower the CPU priority of {} below that of busy loops on the same processor"
    Params: ClassVar[type[msgspec.Struct]] = PriorityParams
    least_s: ClassVar[float] = 8.0

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._standing: dict[str, Standing] = {}
        self._ways: dict[str, tuple[str, ...]] = {}

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """How low."""
        return f"{' '.join(names)}, nice {params.nice} beside {params.hogs} loops on one processor"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Lower and raise a process of ours."""
        try:
            return None if _ways(host) else f"who lowers a priority may not raise it again; {HELP}"
        except ChaosError as error:
            return f"{error}; {HELP}"

    def idle(self) -> str:
        """Nothing is to be lowered."""
        return "" if self.params.nice else "has the usual priority: nice is 0"

    def act(self) -> None:
        """Start the loops beside all targets at once, then lower the processes."""
        super().act()
        if not self.idle():
            self.look_and_act(self._can_lower, self._lower, "lowering the priority")

    def _can_lower(self, node: Node) -> tuple[str, ...]:
        """See what priority a process has, and the ways in which it can be lowered and raised again."""
        low = self.params.nice
        standing = self._standing_of(node, self.before[node.name].pid)
        ways = self._ways[node.name] = _ways(node.host)
        usual = standing.values(ways)
        if not usual or min(usual.values()) > low - _LEAST_NICE:
            raise DeployError(f"its priority cannot be lowered: nice {usual or 'cannot be set back'}; {HELP}")
        self._standing[node.name] = standing
        return ways

    def _lower(self, node: Node, ways: tuple[str, ...]) -> None:
        to = dict.fromkeys(ways, self.params.nice)
        run_program(node.host, _PROGRAM, {"pid": self.before[node.name].pid, "to": to})

    def verify_still(self) -> Evidence:
        """Ask every kernel whether the process has that priority and runs nowhere else, and whether the loops live."""
        return self.look(self._lasts)

    def _lasts(self, name: str, now: ProcState) -> Fact:
        if why := self.idle():
            return False, why
        if name not in self._standing or not self.is_it(name, now):
            return False, "was not lowered, or is not the process that it was"
        if not self.resident.lives(self.nodes[name].host):
            return False, "has no loops beside it any more"
        seen, cpu = self._standing_of(self.nodes[name], now.pid), self._cpu[name]
        if seen.cpus != (cpu,):
            return False, f"pid {now.pid} may run elsewhere than beside the loops"
        same = has_priority(seen, self._low(name))
        return same, f"pid {now.pid} {'still has that' if same else 'has another'} priority on processor {cpu}"

    def _low(self, name: str) -> dict[str, int]:
        return dict.fromkeys(self._ways[name], self.params.nice)

    def in_force(self, name: str, now: ProcState) -> Fact:
        """As for loops alone, and a loop of that priority beside one of the usual gets next to nothing."""
        good, said = super().in_force(name, now)
        if not good or name not in self._standing:
            return False, said if not good else "was not lowered"
        to = self._low(name)
        orders = {"pid": now.pid, "to": to, "cpu": self._cpu[name], "seconds": _WATCH_S}
        done = run_program(self.nodes[name].host, _PROGRAM, orders)
        starved, told = judge(msgspec.json.decode(done, type=Seen), to)
        return starved, f"{said}, {told}"

    def heal(self) -> None:
        """Raise every process that still is what it was, then end the loops and let it run where it could."""

        def back(node: Node) -> None:
            seen = process.state(node)
            if node.name in self._standing and seen.alive and self.same(node.name, seen):
                to = self._standing[node.name].values(self._ways[node.name])
                run_program(node.host, _PROGRAM, {"pid": seen.pid, "to": to})

        try:
            self.on_all(back, "raising the priority")
        finally:
            super().heal()

    def undone(self, name: str, now: ProcState) -> Fact:
        """Whether a process has its priority, runs where it could, and no loop is left."""
        back, said = super().undone(name, now)
        if not back or name not in self._standing:
            return back, said
        seen, usual = self._standing_of(self.nodes[name], now.pid), self._standing[name]
        same = (seen.nice, seen.autogroup) == (usual.nice, usual.autogroup)
        return same, f"{said}, {'has' if same else 'does not have'} its priority back"

    def _standing_of(self, node: Node, pid: int | None) -> Standing:
        return msgspec.json.decode(run_program(node.host, _PROGRAM, {"pid": pid}), type=Standing)


def has_priority(standing: Standing, to: dict[str, int]) -> bool:
    """Pure: whether all threads, or the session, or both, have the priority that was set."""
    session = "autogroup" not in to or standing.autogroup == to["autogroup"]
    return session and ("nice" not in to or standing.nice == (to["nice"],))


def judge(seen: Seen, to: dict[str, int]) -> Fact:
    """Pure: whether a loop of the priority that was set, ``to``, is starved, and the process has that priority.

    What the loop gets beside one of the usual priority lies nearer to what it should than to what the other gets, by
    factors.
    """
    low = max(to.values(), default=0)
    most = seen.usual * math.sqrt(_STEP**-low)
    same = has_priority(seen, to)
    told = f"one of nice {low} gets {seen.got:.1%} beside {seen.usual:.1%}".replace("%", " %")
    told += f", it ran {seen.ran:.2f} s and waited {seen.waited:.2f} s"
    return seen.got <= most and same, f"{told}{'' if same else ', it has another priority'}"


def _ways(host: Host) -> tuple[str, ...]:
    return msgspec.json.decode(run_program(host, _PROGRAM, {"try": True}), type=tuple[str, ...])
