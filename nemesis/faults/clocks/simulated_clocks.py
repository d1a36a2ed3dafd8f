"""What the programs of faults of clocks do on simulated machines (see ``cluster.simulation.commands``)."""

import json
from collections.abc import Sequence
from typing import Final

from chaos.core import waiting
from cluster.simulation.commands import Answers, CommandFailed
from cluster.simulation.machine import Machine
from nemesis.faults import programs
from nemesis.faults.clocks import mover
from nemesis.faults.clocks.mover import Shift
from nemesis.faults.clocks.readings import PROGRAM

_UNIT: Final = 1 << 32


def shown_ns(shift: Shift, passed_ns: int) -> int:
    """Pure: how far ahead a clock is so long after it was moved, as the program ``vclock`` has it."""
    there = shift.half_ns and passed_ns // shift.half_ns % 2
    return shift.base_ns + round(shift.rate * passed_ns) + (shift.delta_ns if there else 0)


def _vclock(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    word, *rest = arguments
    if word == "restore":
        machine.clock_shifts.pop(rest[0], None)
    elif word == "run":
        if not machine.alive:
            raise CommandFailed(1, "the node has no process")
        _, _, token, _, base, rate, delta, half = rest
        shift = Shift(int(base), int(rate) / _UNIT, int(delta), int(half))
        begun_ns = machine.true_ns()
        machine.clock_shifts[token] = lambda: shown_ns(shift, machine.true_ns() - begun_ns)
    return ""


def _token(pid_file: str) -> str:
    """Of the fault whose program has its pid there."""
    return pid_file.rpartition("/")[2].removeprefix(".vclock-").removesuffix(".pid")


def _lives(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    if _token(arguments[0]) not in machine.clock_shifts:
        raise CommandFailed(1)
    return ""


def _stop(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    machine.clock_shifts.pop(_token(arguments[0]), None)
    return ""


def _machine_kind(_machine: Machine, _arguments: Sequence[str], _stdin: bytes) -> str:
    return mover.MACHINE


def _probe(machine: Machine, arguments: Sequence[str], _stdin: bytes) -> str:
    orders = json.loads(arguments[0])
    if not machine.alive or machine.pid != orders["pid"]:
        return "{}"
    samples = []
    for _ in range(orders["looks"]):
        waiting.sleep(orders["span_s"] / orders["looks"])
        true_ns = machine.true_ns()
        samples.append((true_ns, machine.wall_ns(), true_ns))
    return json.dumps({machine.pid: {"name": machine.name, "samples": samples, "steady": True}})


def answers() -> Answers:
    """Move a clock, give it back, and read it."""
    return {
        mover.PROGRAM.on_host: _vclock,
        "uname": _machine_kind,
        programs.IS_OURS: _lives,
        programs.STOP: _stop,
        PROGRAM.read_text(): _probe,
    }
