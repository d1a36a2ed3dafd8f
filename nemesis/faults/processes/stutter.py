"""Let processes run for moments only: stopped and let go on many times a second, as on a machine that is overloaded.

A program on the target's host sends the signals (``stutter_program.py``). It needs no rights and no cgroups, and takes
nothing from other processes of the machine. Proven by how often the process is seen to stand still.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.events import Evidence
from cluster.cluster import Node
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from nemesis.faults.fault import Fact
from nemesis.faults.processes import stutter_program
from nemesis.faults.processes.resident_fault import ResidentFault
from nemesis.faults.programs import run_program

_SAMPLES: Final = 200
_SLACK: Final = 0.5


class StutterParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long it runs and how long it stands, in turn."""

    on_ms: Annotated[float, Meta(ge=1, le=1_000, description="it runs so long", extra={"unit": "ms"})] = 10.0
    off_ms: Annotated[float, Meta(ge=5, le=5_000, description="and stands so long", extra={"unit": "ms"})] = 30.0


class Stutter(ResidentFault):
    """SIGSTOP and SIGCONT to the process of each target, in turn."""

    name: ClassVar[str] = "stutter"
    verb: ClassVar[str] = "starved of CPU"
    help: ClassVar[str] = "pause and resume {} in quick turns (SIGSTOP, SIGCONT)"
    Params: ClassVar[type[msgspec.Struct]] = StutterParams
    program: ClassVar[Path] = Path(stutter_program.__file__)
    beside: ClassVar[str] = "program that stops it"

    @classmethod
    def describe(cls, selector: Any, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """The rhythm."""
        return f"{' '.join(names)}, running {params.on_ms:g} of every {params.on_ms + params.off_ms:g} ms"

    def orders(self, node: Node, seen: ProcState) -> Mapping[str, Any]:  # noqa: ARG002 - the same for all
        """The rhythm."""
        return {"on_ms": self.params.on_ms, "off_ms": self.params.off_ms}

    def in_force(self, name: str, now: ProcState) -> Fact:
        """Of 200 looks at moments that are drawn, as many see the process stand still as its rhythm says."""
        off = self.params.off_ms / (self.params.on_ms + self.params.off_ms)
        stood = self._stood(self.nodes[name], now.pid)
        good = off * _SLACK <= stood and 1 - stood >= (1 - off) * _SLACK
        return good, f"pid {now.pid} stood still in {stood:.0%} of {_SAMPLES} looks, {off:.0%} asked"

    def verify_still(self) -> Evidence:
        """Whether the programs and the processes live."""

        def fact(name: str, now: ProcState) -> Fact:
            if not self.is_it(name, now):
                return False, "is not the process that it was"
            goes_on = self.resident.lives(self.nodes[name].host)
            return goes_on, f"pid {now.pid} {'still' if goes_on else 'no longer'} runs for moments only"

        return self.look(fact)

    def heal(self) -> None:
        """End the programs, then let every process go on, whatever became of its program."""

        def let_go(node: Node) -> None:
            self.resident.end(node.host)
            process.resume(node)

        self.on_all(let_go, "SIGCONT")

    def undone(self, name: str, now: ProcState) -> Fact:
        """Whether a process is never seen to stand still."""
        stood = self._stood(self.nodes[name], now.pid)
        return stood == 0, f"pid {now.pid} {f'stood still in {stood:.0%} of looks' if stood else 'runs'}"

    def _stood(self, node: Node, pid: int | None) -> float:
        said = run_program(node.host, self.program, {"watch": pid, "samples": _SAMPLES})
        return msgspec.json.decode(said, type=dict[str, float])["stopped"]
