"""Where commands happen: the seam behind which netns, Docker and SSH look alike.

Systems, faults and the phases of a run speak to ``Host`` and ``Backend`` only.
"""

from asyncio import Task
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Final, Protocol, runtime_checkable

import msgspec

from chaos.core.errors import CapabilityError, DeployError
from chaos.core.events import Note


class Capability(StrEnum):
    """What a fault may need of a host or of the machine."""

    IPTABLES = "iptables"  # an own chain in INPUT and OUTPUT
    STATISTIC = "statistic"  # iptables -m statistic
    SIGNALS = "signals"  # kill, stop, continue processes
    RESTART = "restart"  # start a process again that ended
    LINK = "link"  # leave the network and come back, with commands still reaching the host
    PROGRAMS = "programs"  # run programs of ours, and look into the kernel
    CLOCK = "clock"  # give the processes of a node another wall clock
    FILES = "files"  # look into the files of a node that is down, and change them
    DISK = "disk"  # a file system of ours beneath a node's data
    MACHINE = "machine"  # end, freeze, unplug and start the host itself


class Completed(msgspec.Struct, frozen=True):
    """A command that ended. ``returncode`` is negative for a signal, as in subprocess."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Standard output, decoded and stripped."""
        return self.stdout.decode(errors="replace").strip()

    def check(self, doing: str = "") -> "Completed":
        """Return self, or raise DeployError with what it wrote to standard error.

        ``doing``: the host and what was tried there, for people; without it the command is shown.
        """
        if self.returncode != 0:
            said = self.stderr.decode(errors="replace").strip() or self.text
            shown = doing or " ".join(" ".join(self.argv).split())[:200]
            raise DeployError(f"{shown}: exit {self.returncode}: {' | '.join(said.splitlines())[:500]}")
        return self


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A node that the system wants: ``name`` is also its hostname.

    ``programs``: what must be on the PATH of its host beside sh, coreutils and python3.
    """

    name: str
    role: str
    programs: tuple[str, ...] = ()


class MachineState(msgspec.Struct, frozen=True):
    """What is known of a host from outside.

    ``started`` names this start of it; another start, another name. ``plugged``: it is in its network.
    """

    running: bool
    frozen: bool
    plugged: bool
    started: str


class Machine(Protocol):
    """A host as a thing that can be ended, frozen, unplugged and started.

    Its home and its address stay; processes do not.
    """

    def kill(self) -> None:
        """End all that runs on it, at once; fine if it has ended."""
        ...

    def stop(self, grace_s: float) -> None:
        """Ask all that runs on it to end, and end what has not within ``grace_s``; fine if it has ended."""
        ...

    def start(self) -> None:
        """Start it again, with nothing running yet; fine if it runs."""
        ...

    def restart(self, grace_s: float) -> None:
        """``stop`` and ``start`` in one go."""
        ...

    def freeze(self) -> None:
        """Let nothing on it run; fine if it is frozen."""
        ...

    def thaw(self) -> None:
        """Let everything run on; fine if it is not frozen."""
        ...

    def unplug(self) -> None:
        """Take it off its network; fine if it is off."""
        ...

    def plug(self) -> None:
        """Put it into its network again, with the address that it had; fine if it is there."""
        ...

    def state(self) -> MachineState:
        """Look at it from outside, now."""
        ...


class ControlLink(msgspec.Struct, frozen=True):
    """The TCP connection by which commands reach a host through the network that faults cut.

    ``address``: the far end, as the host sees it. ``port``: the host's own end.
    """

    address: str
    port: int


class Host(Protocol):
    """One place with a hostname, an address and processes of its own."""

    name: str
    address: str
    home: str
    """An existing folder on the host that belongs to this node; the same path after a restart."""
    capabilities: frozenset[Capability]
    machine: Machine | None
    """Set where the host itself can be acted on (``Capability.MACHINE``)."""

    @property
    def control(self) -> ControlLink | None:
        """What no packet filter rule may cut; None where commands do not come by the network."""
        ...

    def run(self, *argv: str, stdin: bytes = b"", timeout_s: float) -> Completed:
        """Run a command to its end. On time-out it and its children are killed.

        Raises:
            DeadlineError: the command did not end within ``timeout_s``.
            DeployError: the host is gone.
        """
        ...

    def put(self, source: bytes | Path, target: str, *, mode: int = 0o644) -> None:
        """Write a file on the host (whole or not at all), making its folder."""
        ...

    def get(self, source: str, target: Path) -> None:
        """Copy a file from the host; raises FileNotFoundError if it is not there."""
        ...


class ClientProcess(Protocol):
    """A process of ours in the client's network, as ``subprocess.Popen`` is one."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; returns its exit status.

        Raises:
            Exception: it did not end within ``timeout`` seconds.
        """
        ...

    def kill(self) -> None:
        """End it at once; fine if it has ended."""
        ...


class Backend(Protocol):
    """Makes hosts and a network between them, and takes them away again.

    All that it makes ends with the process that called ``up``, also by ``kill -9``.
    """

    name: str
    options: Mapping[str, str]
    """What users may set, with a line of help each; given to the constructor as keyword arguments."""
    lacks: Mapping[Capability, str]
    """What its hosts never have, and why."""
    on_this_machine: bool
    """Whether this machine's kernel is also that of its hosts."""

    def prepare(self, specs: Sequence[NodeSpec], say: Callable[[str], None]) -> None:
        """Make sure of what such hosts are made of, and remove what dead runs left; once a machine it takes minutes.

        ``say`` gets one line per step.

        Raises:
            CapabilityError: the machine cannot do it; the message names the command that helps.
        """
        ...

    def up(self, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Mapping[str, Host]:
        """Make one host per spec plus one named ``client`` where load and observers run.

        ``work`` is an existing local folder in which the backend may keep node homes.

        Raises:
            CapabilityError: the machine cannot do it; the message names the command that helps.
        """
        ...

    def provide(self, source: Path) -> str:
        """Make a local folder visible, to be read only, on every host; returns its path there. Before ``up``."""
        ...

    def popen_inside(self, argv: Sequence[str], env: Mapping[str, str]) -> ClientProcess:
        """Start a local Python-side process (worker, observer) in the client's network.

        Its standard input and output are pipes to the caller; it sees the local file system.
        """
        ...

    def check(self) -> None:
        """Raise DeployError if a host has gone though nobody asked for it; cheap, for it is called all the time."""
        ...

    def down(self) -> None:
        """Remove everything that ``up`` made; safe to call twice and after a failed ``up``."""
        ...

    def notes(self) -> Sequence[Note]:
        """What was seen of the hosts since the last call that belongs into the history; ``warning`` in the data."""
        ...


@runtime_checkable
class HasDefaults(Protocol):
    """A backend on which runs have other defaults."""

    defaults: Mapping[str, Any]
    """By field of ``chaos.options.experiment.Experiment``."""


@runtime_checkable
class RunsHere(Protocol):
    """A backend that has the whole run in this process, in a time of its own."""

    simulated_s: float
    """How long the last run took in that time."""
    broken: Sequence[str]
    """What did not hold of the system in the last run, as its own invariants say; a few of them."""

    def keeping_time(
        self, system: object, seed: int, say: Callable[[str], None], answers: Mapping[str, Any]
    ) -> AbstractContextManager[None]:
        """Keep the time of one run of this system; ``answers``: see ``cluster.simulation.commands``.

        Raises:
            UsageError: the system cannot run here.
        """
        ...

    def run_here(self, body: Coroutine[Any, Any, None]) -> Task[None]:
        """Have the body of a worker or an observer run beside everything else."""
        ...

    def seen_from_inside(self, system: Any) -> Any:
        """The system as workers and the observer need it, so that they reach the nodes."""
        ...


MISSING_PROGRAMS: Final = 'for program; do command -v "$program" >/dev/null || echo "$program"; done'
_LOOK_TIMEOUT_S: Final = 15.0


def check_programs(host: Host, programs: Sequence[str], where: str) -> None:
    """Refuse a host on which programs are missing.

    ``where``: what has to have them, for people: a machine, an image.

    Raises:
        CapabilityError: naming them all.
    """
    missing = host.run("sh", "-c", MISSING_PROGRAMS, "sh", *programs, timeout_s=_LOOK_TIMEOUT_S).check().text.split()
    if missing:
        raise CapabilityError(f"{host.name}: {where} has no {', no '.join(missing)} on its PATH; install it there")


@contextmanager
def hosts_up(backend: Backend, run_id: str, specs: Sequence[NodeSpec], work: Path) -> Iterator[Mapping[str, Host]]:
    """``up`` and, whatever happens, ``down``."""
    try:
        yield backend.up(run_id, specs, work)
    finally:
        backend.down()
