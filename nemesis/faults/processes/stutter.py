"""Let processes run for moments only: stopped and let go on many times a second, as on a machine that is overloaded.

A program on the target's host sends the signals (``stutter_program.py``). It needs no rights and no cgroups, and takes
nothing from other processes of the machine. Proven by how often the process is seen to stand still.
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
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact, Scene
from nemesis.faults.processes import stutter_program
from nemesis.faults.processes.process_fault import ProcessFault
from nemesis.faults.programs import Resident, run_program

_PROGRAM: Final = Path(stutter_program.__file__)
_SAMPLES: Final = 200
_SLACK: Final = 0.5


class StutterParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long it runs and how long it stands, in turn."""

    on_ms: Annotated[float, Meta(ge=1, le=1_000, description="it runs so long", extra={"unit": "ms"})] = 10.0
    off_ms: Annotated[float, Meta(ge=5, le=5_000, description="and stands so long", extra={"unit": "ms"})] = 30.0


class Stutter(ProcessFault):
    """SIGSTOP and SIGCONT to the process of each target, in turn."""

    name: ClassVar[str] = "stutter"
    verb: ClassVar[str] = "starved of CPU"
    help: ClassVar[str] = "let the process of {} run for moments only (SIGSTOP and SIGCONT in turn)"
    Params: ClassVar[type[msgspec.Struct]] = StutterParams
    colour: ClassVar[Colour] = "yellow"
    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 5.0
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.PROGRAMS})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._resident = Resident(self.name, _PROGRAM)

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """The rhythm."""
        return f"{' '.join(names)}, running {params.on_ms:g} of every {params.on_ms + params.off_ms:g} ms"

    def act(self) -> None:
        """Start the programs on all targets at once."""

        def start(node: Node) -> None:
            seen = self.remember(node)
            if not seen.alive:
                raise DeployError("has no process")
            orders = {"pid": seen.pid, "start": seen.start_time}
            self._resident.run(node.host, {**orders, "on_ms": self.params.on_ms, "off_ms": self.params.off_ms})

        self.on_all(start, "starting to stop and continue")

    def verify(self) -> Evidence:
        """Of 200 looks at moments that are drawn, as many see each process stand still as its rhythm says."""
        off = self.params.off_ms / (self.params.on_ms + self.params.off_ms)

        def fact(name: str, now: ProcState) -> Fact:
            if not (now.alive and self.same(name, now)):
                return False, "is not the process that it was"
            stood = self._stood(self.nodes[name], now.pid)
            good = off * _SLACK <= stood and 1 - stood >= (1 - off) * _SLACK
            return good, f"pid {now.pid} stood still in {stood:.0%} of {_SAMPLES} looks, {off:.0%} asked"

        return self.look(fact)

    def verify_still(self) -> Evidence:
        """Whether the programs and the processes live."""

        def fact(name: str, now: ProcState) -> Fact:
            if not (now.alive and self.same(name, now)):
                return False, "is not the process that it was"
            goes_on = self._resident.lives(self.nodes[name].host)
            return goes_on, f"pid {now.pid} {'still' if goes_on else 'no longer'} runs for moments only"

        return self.look(fact)

    def heal(self) -> None:
        """End the programs, then let every process go on, whatever became of its program."""

        def let_go(node: Node) -> None:
            self._resident.end(node.host)
            process.resume(node)

        self.on_all(let_go, "SIGCONT")

    def verify_healed(self) -> Evidence:
        """Each process is the one it was, and is never seen to stand still."""

        def fact(name: str, now: ProcState) -> Fact:
            if not now.alive:
                return False, "is dead"
            if name in self.before and not self.same(name, now):
                return False, f"is another process now, pid {now.pid}"
            stood = self._stood(self.nodes[name], now.pid)
            return stood == 0, f"pid {now.pid} {f'stood still in {stood:.0%} of looks' if stood else 'runs'}"

        return self.look(fact, lambda name, now: ENDED if name in self.before and not now.alive else "not as it was")

    def _stood(self, node: Node, pid: int | None) -> float:
        said = run_program(node.host, _PROGRAM, {"watch": pid, "samples": _SAMPLES})
        return msgspec.json.decode(said, type=dict[str, float])["stopped"]
