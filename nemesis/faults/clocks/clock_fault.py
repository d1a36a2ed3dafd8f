"""What faults share that give some nodes another wall clock: it is moved, read as processes see it, and given back.

Only the processes of the node see it: the machine, other nodes and the harness keep theirs, and monotonic time goes on
as it did. ``mover`` says how it is moved, ``readings`` how it is read. At zero nothing is done. A node whose process
ends meanwhile is reported and not started again: that is its answer to the fault.
"""

import secrets
from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final

from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from chaos.core.node_notes import ENDED
from cluster.cluster import Node
from cluster.host import Capability, Host
from cluster.nodes import process
from cluster.nodes.process_state import ProcState
from cluster.simulation.commands import Answers
from nemesis.faults.clocks import mover, simulated_clocks
from nemesis.faults.clocks.mover import Shift
from nemesis.faults.clocks.readings import Reading, Readings, is_right, judge_readings, plain, read_clocks
from nemesis.faults.fault import Fact, Scene, on_each
from nemesis.faults.processes.process_fault import ACTION_TIMEOUT_S, ProcessFault
from nemesis.faults.programs import end_program, program_lives
from nemesis.proof import evidence

_LOOKS: Final = 40
SPAN_S: Final = 0.5
QUICK_SPAN_S: Final = 0.2


class ClockFault(ProcessFault):
    """Another wall clock for the processes of each target; a subclass says which."""

    hits: ClassVar[Hits] = "clock"
    colour: ClassVar[Colour] = "brown"
    in_all: ClassVar[bool] = False
    needs: ClassVar[frozenset[Capability]] = frozenset({Capability.SIGNALS, Capability.CLOCK})

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._token = f"{secrets.randbits(40):010x}"

    @classmethod
    def simulated(cls) -> Answers:
        """See ``Fault.simulated``."""
        return simulated_clocks.answers()

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Move the clock of a process of ours, and give it back."""
        return mover.obstacle(host)

    @abstractmethod
    def shift(self, name: str) -> Shift | None:
        """What the clock of a target shows; None for the machine's own."""

    @abstractmethod
    def judge(self, name: str, pid: int, reading: Reading) -> Fact:
        """Whether a process of the target sees that clock, and what it sees."""

    @abstractmethod
    def least_ns(self) -> int:
        """How far the clock is off where it is: what a look must be able to see."""

    def span_s(self, *, quick: bool) -> float:
        """How long a look reads the clock."""
        return QUICK_SPAN_S if quick else SPAN_S

    def act(self) -> None:
        """Move the clocks of all targets at once."""

        def move(node: Node, _seen: ProcState) -> None:
            if (shift := self.shift(node.name)) is not None:
                mover.move(node.host, self._token, shift)

        self.look_and_act(self.remember_alive, move, "moving the clock")

    def verify(self) -> Evidence:
        """Every process of each target is told the other time, and the same monotonic time as before."""
        return self._look(self._moved, self.span_s(quick=False))

    def verify_still(self) -> Evidence:
        """Look at the same, and whether the program goes on that sees to processes that begin."""
        found = self._look(self._moved, self.span_s(quick=True))
        gone = on_each(
            self.nodes,
            lambda name: not program_lives(self.nodes[name].host, mover.pid_file(self.nodes[name].host, self._token)),
            "a look at the program",
            ACTION_TIMEOUT_S,
        ).check("looking at the programs")
        return found if not any(gone.values()) else evidence.combine_evidence(found, _nobody_moves(gone))

    def heal(self) -> None:
        """End the programs, which give the clocks back, and give back what one has left; fine if nothing was moved."""

        def give_back(node: Node) -> None:
            end_program(node.host, mover.pid_file(node.host, self._token))
            mover.restore(node.host, self._token)
            if process.state(node).successor is not None:
                process.adopt(node)  # what something else has started in the place of a process that ended

        self.on_all(give_back, "giving the clock back", 2 * ACTION_TIMEOUT_S)

    def verify_healed(self) -> Evidence:
        """Every process of each target, also one that has begun since, has the clock of its machine."""
        return self._look(lambda _name, readings: judge_readings(readings, self._right), QUICK_SPAN_S)

    def _moved(self, name: str, readings: Readings) -> Fact:
        if self.shift(name) is None:
            return False, "was asked for nothing, and nothing was done"
        before = self.before.get(name)
        if before is None or before.pid not in readings:
            return False, f"pid {before.pid} is gone" if before is not None else "was not looked at"
        return judge_readings(readings, lambda pid, reading: self.judge(name, pid, reading))

    def _right(self, _pid: int, reading: Reading) -> Fact:
        return is_right(reading, self.least_ns())

    def _look(self, fact: Callable[[str, Readings], Fact], span_s: float) -> Evidence:
        seen: dict[str, Readings] = {}
        failed: dict[str, str] = {}

        def look(name: str) -> Fact:
            now = process.state(self.nodes[name])
            if not now.alive or now.pid is None or now.start_time is None:
                failed[name] = self._why_dead(name)
                return False, "is dead"
            seen[name] = read_clocks(self.nodes[name].host, now.pid, now.start_time, _LOOKS, span_s)
            return fact(name, seen[name])

        facts = on_each(self.nodes, look, "a look at the clock", ACTION_TIMEOUT_S + span_s).facts(_as_seen)
        details = {"clocks": {name: plain(seen[name]) for name in sorted(seen)}, "failed": failed}
        return evidence.each_node(facts, details)

    def _why_dead(self, name: str) -> str:
        before: ProcState | None = self.before.get(name)
        return ENDED if before is not None and before.alive else "not as it was"


def _as_seen(_name: str, fact: Fact) -> Fact:
    return fact


def _nobody_moves(gone: dict[str, bool]) -> Evidence:
    names = " ".join(sorted(name for name, is_gone in gone.items() if is_gone))
    return Evidence(
        kind=evidence.PROC, proven=False, summary=f"nobody moves the clock of processes that begin on {names}"
    )
