"""Moves the clocks of a node's processes: our program is put on its host, started, and ended.

The program (``vclock``) changes the vDSO of running processes, the code by which they read clocks without
asking the kernel. So it reaches every runtime that reads clocks this way (C, Python, Go, the JVM), needs no
rights beyond the node's own, and leaves the clock of the machine and of everybody else alone.
"""

import platform
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.errors import CapabilityError, ChaosError
from cluster.host import Host
from nemesis.c_program import CProgram

TIMEOUT_S: Final = 30.0
MACHINE: Final = "x86_64"
PROGRAM: Final = CProgram(
    name="vclock",
    what="the program that moves clocks",
    sources=Path(__file__).parent / "vclock",
    on_host=".vclock",
    linkings=(("-static",),),
)
HELP: Final = "let the node's user trace processes: kernel.yama.ptrace_scope=0, or CAP_SYS_PTRACE"

LEASE_S: Final = 20.0
"""Clocks that nobody moves any more are right again after that."""

_UNIT: Final = 1 << 32


class Shift(msgspec.Struct, frozen=True):
    """What a clock shows beside the machine's.

    ``base_ns`` always; ``rate`` ns more for each ns since the fault began; ``delta_ns`` more in every second half of a
    period of twice ``half_ns``.
    """

    base_ns: int = 0
    rate: float = 0.0
    delta_ns: int = 0
    half_ns: int = 0


def obstacle(host: Host) -> str | None:
    """Why no clock can be moved on a host, and what helps: that of a process of ours is, and is given back."""
    machine = host.run("uname", "-m", timeout_s=TIMEOUT_S).text
    if machine != MACHINE:
        kind = machine or "of an unknown kind"
        return f"clocks can be moved on x86-64 only, and this host is {kind}; use hosts of x86-64"
    try:
        done = host.run(_put_program(host), "try", timeout_s=TIMEOUT_S)
    except CapabilityError as error:
        return str(error)
    except ChaosError as error:
        return f"{error}; {HELP}"
    said = " ".join(done.stderr.decode(errors="replace").split()) or f"exit {done.returncode}"
    return None if done.returncode == 0 else f"no clock can be moved: {said}; {HELP}"


def move(host: Host, token: str, shift: Shift, lease_s: float = LEASE_S) -> None:
    """Move the clocks of all processes of the node on this host, and of those that it starts, until ``end_program``.

    Raises:
        ChaosError: the node has no process, or the clock of one cannot be moved.
    """
    numbers = (round(lease_s * NS_PER_S), shift.base_ns, round(shift.rate * _UNIT), shift.delta_ns, shift.half_ns)
    argv = (_put_program(host), "run", host.home, pid_file(host, token), token, *map(str, numbers))
    host.run(*argv, timeout_s=TIMEOUT_S).check(f"{host.name}: moving its clock")


def restore(host: Host, token: str) -> None:
    """Give every process of the host its clock back that was moved under this token; fine if there is none.

    Raises:
        ChaosError: a process could not be given its clock back.
    """
    if PROGRAM.is_on(host):
        host.run(PROGRAM.path_in(host.home), "restore", token, timeout_s=TIMEOUT_S).check(
            f"{host.name}: giving its clock back"
        )


def pid_file(host: Host, token: str) -> str:
    """Where the program's own pid is, while it moves clocks under this token."""
    return f"{host.home}/.vclock-{token}.pid"


def _put_program(host: Host) -> str:
    """The program's path on the host, put there if need be; what is made here runs on a host of the same kind only."""
    if (here := platform.machine()) != MACHINE:
        raise CapabilityError(f"clocks can be moved on x86-64 only, and this machine is {here}; use one of x86-64")
    return PROGRAM.put_on(host)
