"""Let loops compete with processes for a processor, as a neighbour on the machine does.

Each target's process is confined to one processor of those it may use, and loops run there beside it
(``cpu_load_program.py``). It needs no rights and no cgroups. Proven by the share of that processor that another loop,
which knows of none of this, can get.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from cluster.cluster import Node
from cluster.host import Host
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Scene
from nemesis.faults.processes import cpu_load_program
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S
from nemesis.faults.processes.resident_fault import ResidentFault
from nemesis.faults.programs import run_program

_WATCH_S: Final = 0.5
_SLACK: Final = 1.5
_LEAST: Final = 0.5
"""Of what another loop gets: ours get so much at least, if they compete with it at all."""


class CpuLoadParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many compete."""

    hogs: Annotated[int, Meta(ge=0, le=64, description="so many loops compete with the process")] = 4


class Share(msgspec.Struct, frozen=True):
    """What a loop gets of a processor, what each of ours, and how many threads of the process may run elsewhere."""

    got: float
    loops: tuple[float, ...]
    elsewhere: int


class CpuLoad(ResidentFault):
    """Loops beside the process of each target, on one processor."""

    name: ClassVar[str] = "cpu-load"
    verb: ClassVar[str] = "short of CPU"
    help: ClassVar[str] = "run busy loops that compete with the process of {} for one processor"
    Params: ClassVar[type[msgspec.Struct]] = CpuLoadParams
    program: ClassVar[Path] = Path(cpu_load_program.__file__)
    beside: ClassVar[str] = "loops beside it"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._cpu: dict[str, int] = {}
        self._usual: dict[str, dict[str, list[int]]] = {}
        self._got: dict[str, float] = {}

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Among how many."""
        return f"{' '.join(names)}, beside {params.hogs} loops on one processor"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Confine a process of ours to one processor, and let it go."""
        text = "import os; was = os.sched_getaffinity(0); [os.sched_setaffinity(0, cpus) for cpus in ([min(was)], was)]"
        done = host.run("python3", "-I", "-S", "-c", text, timeout_s=ACTION_TIMEOUT_S)
        said = done.stderr.decode(errors="replace").strip()[-200:]
        return None if done.returncode == 0 else f"no process can be confined to a processor: {said}; run as root"

    def idle(self) -> str:
        """There are no loops."""
        return "" if self.params.hogs else "nothing competes with it: hogs is 0"

    def look_before(self, node: Node, seen: ProcState) -> None:
        """Choose a processor, and see what a loop gets of it."""
        assert seen.pid is not None
        able = _cpus(node, seen.pid)
        self._cpu[node.name] = able[list(self.nodes).index(node.name) % len(able)]
        self._got[node.name] = self._watch(node, seen.pid, self._cpu[node.name]).got

    def orders(self, node: Node, seen: ProcState) -> Mapping[str, Any]:
        """How many loops, and on which processor, to which the process is confined."""
        cpu = self._cpu[node.name]
        pinned = run_program(node.host, self.program, {"pid": seen.pid, "pin": cpu})
        self._usual[node.name] = msgspec.json.decode(pinned, type=dict[str, list[int]])
        return {"hogs": self.params.hogs, "cpu": cpu, "usual": self._usual[node.name]}

    def in_force(self, name: str, now: ProcState) -> Fact:
        """Another loop gets no more of the processor than one of so many can, and the process runs nowhere else."""
        assert now.pid is not None
        cpu, most = self._cpu[name], _SLACK / (self.params.hogs + 1)
        seen = self._watch(self.nodes[name], now.pid, cpu)
        said = f"another loop on processor {cpu} gets {seen.got:.0%} of it, {self._got[name]:.0%} before"
        if seen.elsewhere:
            return False, f"{said}, {seen.elsewhere} threads of pid {now.pid} may run elsewhere"
        theirs = sum(seen.loops) / self.params.hogs
        good = len(seen.loops) == self.params.hogs and seen.got <= most and theirs >= seen.got * _LEAST
        return good, f"{said}, each of {len(seen.loops)} of ours {theirs:.0%}, pid {now.pid} runs there"

    def heal(self) -> None:
        """End the loops, then let every process that still is what it was run where it could."""

        def let_go(node: Node) -> None:
            self.resident.end(node.host)
            seen = process.state(node)
            if node.name in self._usual and seen.alive and self.same(node.name, seen):
                run_program(node.host, self.program, {"pid": seen.pid, "back": self._usual[node.name]})

        self.on_all(let_go, "ending the load")

    def undone(self, name: str, now: ProcState) -> Fact:
        """Whether a process runs where it could, and no loop is left."""
        assert now.pid is not None
        usual = self._usual.get(name, {}).get(str(now.pid))
        back = usual is None or _cpus(self.nodes[name], now.pid) == usual
        left = self.resident.lives(self.nodes[name].host)
        said = "has loops beside it" if left else "runs where it could" if back else "is confined"
        return back and not left, f"pid {now.pid} {said}"

    def _watch(self, node: Node, pid: int, cpu: int) -> Share:
        said = self.resident.run(node.host, {"pid": pid, "watch": cpu, "seconds": _WATCH_S})
        return msgspec.json.decode(said, type=Share)


def _cpus(node: Node, pid: int) -> list[int]:
    """The processors on which a process may run."""
    text = f"import json, os; print(json.dumps(sorted(os.sched_getaffinity({pid}))))"
    done = node.host.run("python3", "-I", "-S", "-c", text, timeout_s=30)
    return list(json.loads(done.check(f"{node.name}: where its process may run").stdout))
