"""What faults share that change something in the kernel of hosts: routes, neighbours, an interface, ephemeral ports.

A program on each host makes the change and keeps it (``kernel_change_program.py``). It takes it back when the fault is
healed, and by itself on a machine whose harness is gone; hosts in namespaces and containers end with theirs. How a host
was is remembered before, and compared after.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from chaos.core.errors import ChaosError, DeployError
from chaos.core.events import Evidence
from cluster.host import Capability, Host
from nemesis.faults.fault import Fact, Scene, look_then_act, on_each
from nemesis.faults.links import kernel_change_program
from nemesis.faults.links.link_fault import LinkFault
from nemesis.faults.programs import ACTION_TIMEOUT_S, Resident
from nemesis.proof.evidence import combine_evidence, each_node
from nemesis.targets.grudge import Link, all_links

KERNEL: Final = "kernel"
_PROGRAM: Final = Path(kernel_change_program.__file__)

# $1 the host's address. Prints the device that has it.
_DEVICE: Final = """\
set -- $(ip -o -4 addr show to "$1")
[ -n "$2" ] || { echo "no device has the address" >&2; exit 1; }
echo "$2"
"""

Command = tuple[str, ...]


class Change(msgspec.Struct, frozen=True):
    """A change of one host.

    ``put``: commands that make it. ``back``: commands that take it back, each fine to run again. ``hold_ports``: see
    ``kernel_change_program``.
    """

    put: tuple[Command, ...]
    back: tuple[Command, ...]
    hold_ports: int = 0


class KeptChange(LinkFault):
    """A change in the kernel of each target's host; a subclass says which, and what becomes of links."""

    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 5.0
    needs: ClassVar[frozenset[Capability]] = LinkFault.needs | {Capability.PROGRAMS}

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self.targets: dict[str, Host] = {name: self._hosts[name] for name in scene.targets.names}
        self._resident = Resident(self.name, _PROGRAM)
        self._before: dict[str, str] = {}
        self._during: dict[str, str] = {}
        self._changes: dict[str, Change] = {}
        self.touched: frozenset[Link] = frozenset(
            link for link in all_links(self.everyone) if link in self.hit or link[::-1] in self.hit
        )
        """The links on which others see something of it, whether or not that is what it is for."""

    @abstractmethod
    def change(self, name: str, host: Host, before: str) -> Change:
        """What is done to a target; ``before``: its state.

        Raises:
            ChaosError: it cannot be done to this host.
        """

    @abstractmethod
    def state(self, name: str, host: Host) -> str:
        """What the change touches on a target, as the kernel says it."""

    def act(self) -> None:
        """Change all targets at once."""
        self._in_force.disturb(self, self.touched)

        def look(name: str) -> Change:
            host = self.targets[name]
            self._before[name] = self.state(name, host)
            self._changes[name] = self.change(name, host, self._before[name])
            return self._changes[name]

        def put(name: str, change: Change) -> None:
            host = self.targets[name]
            self._resident.run(host, {**msgspec.to_builtins(change), "home": host.home})
            self._during[name] = self.state(name, host)
            if self._during[name] == self._before[name]:
                raise DeployError(f"nothing changed: {self._before[name]}")

        look_then_act(self.targets, look, put, "changing the host", ACTION_TIMEOUT_S).check("changing hosts")

    def verify_still(self) -> Evidence:
        """Ask every kernel whether the change is there, and whether the program lives that keeps it."""

        def look(name: str) -> Fact:
            now = self.state(name, self.targets[name])
            if now != self._during.get(name):
                return False, f"is no longer as it was made: {now or 'nothing'}"
            kept = self._resident.lives(self.targets[name])
            return kept, f"still has {now}" if kept else "has nobody who keeps the change"

        looks = on_each(self.targets, look, "a look at the host", ACTION_TIMEOUT_S)
        return _of_kernel(each_node(looks.facts(lambda _, fact: fact)))

    def heal(self) -> None:
        """Have every program take its change back, and make sure of it."""

        def back(name: str) -> None:
            host = self.targets[name]
            self._resident.end(host)
            for argv in self._changes[name].back:
                host.run(*argv, timeout_s=ACTION_TIMEOUT_S)

        on_each(self._changes, back, "taking the change back", ACTION_TIMEOUT_S).check("taking changes back")
        self._in_force.calm(self)

    def verify_healed(self) -> Evidence:
        """Every probe arrives, and every kernel says what it said before."""
        evidence = super().verify_healed()

        def look(name: str) -> Fact:
            now, before = self.state(name, self.targets[name]), self._before[name]
            return now == before, f"has {now or 'nothing'} as before" if now == before else f"has {now}, not {before}"

        looks = on_each(self._before, look, "a look at the host", ACTION_TIMEOUT_S)
        return combine_evidence(evidence, each_node(looks.facts(lambda _, fact: fact))) if self._before else evidence


def _of_kernel(evidence: Evidence) -> Evidence:
    return msgspec.structs.replace(evidence, kind=KERNEL)


def output_of(host: Host, *argv: str) -> str:
    """What a command prints on a host, each line with single blanks.

    Raises:
        DeployError: it failed.
    """
    done = host.run(*argv, timeout_s=ACTION_TIMEOUT_S)
    lines = done.check(f"{host.name}: {' '.join(argv[:4])}").text.splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def device(host: Host) -> str:
    """The interface that has the host's address.

    Raises:
        DeployError: none has.
    """
    done = host.run("sh", "-c", _DEVICE, "sh", host.address, timeout_s=ACTION_TIMEOUT_S)
    return done.check(f"{host.name}: its interface").text


def why_impossible(host: Host, put: Sequence[Command], back: Sequence[Command], helps: str) -> str | None:
    """Why a change cannot be made on a host, and what helps; None if it can: made and taken back at once."""
    try:
        for argv in put:
            output_of(host, *argv)
    except ChaosError as error:
        return f"{' '.join(str(error).split())}; {helps}"
    finally:
        for argv in back:
            host.run(*argv, timeout_s=ACTION_TIMEOUT_S)
    return None


def check_control(host: Host, peers: Sequence[Host]) -> None:
    """Refuse what would cut the connection by which commands reach a host.

    Raises:
        ChaosError: commands come from one of these peers.
    """
    control = host.control
    if control is not None and control.address in {peer.address for peer in peers}:
        raise ChaosError(f"commands reach {host.name} from {control.address}, which it would lose; name other nodes")
