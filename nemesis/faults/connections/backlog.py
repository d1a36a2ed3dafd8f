"""Fill the queue in which a port keeps connections that are not yet accepted: no new one begins, as in a SYN flood.

On each target a program connects to the port and never sends anything, and the kernel is told to keep such connections
half-open, so the process sees nothing of it (``backlog_program.py``). Once the queue is full the kernel drops what
others send to begin a connection. It would answer them by SYN cookies; these are switched off meanwhile. Connections
that are there go on. Proven by connections to the port and by the kernel's table.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from chaos.core.clock import now_ns
from chaos.core.errors import ChaosError, DeployError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.cluster import Node
from cluster.host import Host
from cluster.network import connection_matrix
from cluster.network.connection_matrix import Tried
from cluster.nodes import process
from nemesis.faults.connections import backlog_program
from nemesis.faults.connections.connection_fault import SIZE_BYTES, WAIT_S, judge
from nemesis.faults.connections.filler import filler
from nemesis.faults.fault import Scene, on_each
from nemesis.faults.links.kernel_change import Change, Command, KeptChange, output_of, why_impossible
from nemesis.faults.links.link_fault import LOOKS
from nemesis.faults.programs import ACTION_TIMEOUT_S, run_program
from nemesis.proof.evidence import beside_others, combine_evidence, each_node
from nemesis.targets.grudge import Link
from nemesis.targets.selectors import Selector

HELP: Final = "run as root; a container needs --privileged"
_PROGRAM: Final = Path(backlog_program.__file__)
_ALL: Final = "all"
_DEFER_S: Final = 600
_SYSCTLS: Final = {"tcp_syncookies": 0, "tcp_max_syn_backlog": 1_000_003}
"""What is set meanwhile: no cookies, and no limit but that of each port."""


class BacklogParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which queue."""

    port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | Literal["all"],
        Meta(description="the TCP port; all: every one on which the node's process listens"),
    ] = "all"
    most: Annotated[
        int, Meta(ge=0, le=20_000, description="so many half-open connections are made at most; 0 does nothing")
    ] = 10_000


class Queue(msgspec.Struct, frozen=True):
    """The half-open connections of a target's ports, and an option of each of its listening sockets."""

    half: int
    options: tuple[int, ...]


class Backlog(KeptChange):
    """The queues of the ports of each target."""

    name: ClassVar[str] = "backlog"
    verb: ClassVar[str] = "full of half-open connections"
    help: ClassVar[str] = "fill the queue of new connections of a TCP port of {}; open connections go on"
    hits: ClassVar[Hits] = "nodes"
    Params: ClassVar[type[msgspec.Struct]] = BacklogParams
    colour: ClassVar[Colour] = "peach"
    least_s: ClassVar[float] = 8.0

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._nodes: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.names}
        self._pids: dict[str, int] = {}
        self._ports: dict[str, tuple[int, ...]] = {}
        self._full: dict[str, int] = {}
        self._queue: dict[str, Queue] = {}
        self.touched = frozenset()
        # Datagrams pass, and so do connections to all other ports.

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Which port."""
        which = "every port" if params.port == _ALL else f"port {params.port}"
        return f"{' '.join(names)}, the queue of {which} full"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Write what the kernel has, and set the option of a socket of a process of ours."""
        writes = " && ".join(f'v=$(cat "{_path(name)}") && echo $v > "{_path(name)}"' for name in _SYSCTLS)
        try:
            run_program(host, _PROGRAM, {"do": "try"})
        except ChaosError as error:
            return f"{error}; {HELP}"
        return why_impossible(host, [("sh", "-c", writes)], [], HELP)

    def act(self) -> None:
        """Find the ports, see that they answer, and fill their queues."""
        if not self.params.most:
            return
        on_each(self.targets, self._find, "a look at ports", ACTION_TIMEOUT_S).check("looking for ports")
        dead = sorted({link[1] for link, one in self._knocked(_begins).items() if not _begins(one)})
        if dead:
            raise ChaosError(f"nothing answers on the port even before the fault: {' '.join(dead)}")
        super().act()

    def _find(self, name: str) -> None:
        pid = process.state(self._nodes[name]).pid
        if pid is None:
            raise DeployError("has no process")
        found = msgspec.json.decode(run_program(self.targets[name], _PROGRAM, {"do": "find", "pid": pid}))
        ports = tuple(port for port in found if self.params.port in (_ALL, port))
        if not ports:
            raise DeployError(f"its process does not listen on {'any port' if found == [] else self.params.port}")
        self._pids[name], self._ports[name] = pid, ports

    def state(self, name: str, host: Host) -> str:
        """What is set in the kernel, and of the sockets."""
        values = output_of(host, "cat", *map(_path, _SYSCTLS)).split()
        words = [f"{key} {value}" for key, value in zip(_SYSCTLS, values, strict=True)]
        return ", ".join([*words, f"tcp_defer_accept {max(self._look(name).options, default=0)}"])

    def change(self, name: str, host: Host, before: str) -> Change:
        """Switch cookies off and fill; end what fills, and set back what was set."""
        words = dict(part.split() for part in before.split(", "))
        sockets = {"pid": self._pids[name], "ports": self._ports[name]}
        usual = {**sockets, "option": int(words["tcp_defer_accept"])}
        orders = {**sockets, "option": _DEFER_S, "address": host.address, "most": self.params.most}
        file = f"{self._resident.pid_file(host)}.filler"
        fill, back = filler(host, file, _PROGRAM, {"do": "fill", **orders}, {"do": "back", **usual})
        return Change(
            put=(*_set(_SYSCTLS), fill),
            back=(*_set({key: int(words[key]) for key in _SYSCTLS}), back),
        )

    def verify(self) -> Evidence:
        """Knock at the ports from everywhere, try connections to others, and look into the kernel's table."""
        if not self.params.most:
            return each_node(dict.fromkeys(self.targets, (False, "has an empty queue: most is 0")))
        self._full = self._half()
        full = {name: (half >= len(self._ports[name]), _half_open(half)) for name, half in self._full.items()}
        return combine_evidence(self._compared(_never_began, "never began"), each_node(full))

    def verify_still(self) -> Evidence:
        """Ask every kernel whether what was set is there, and the queue full."""
        if not self.params.most:
            return self.verify()
        seen = super().verify_still()
        half = {name: queue.half for name, queue in self._queue.items()}
        full = {name: (half[name] >= self._full[name] / 2, _half_open(half[name])) for name in self._full}
        return combine_evidence(seen, each_node(full)) if full else seen

    def verify_healed(self) -> Evidence:
        """Everything is as before, connections to all ports begin, and none of ours is left."""
        evidence = super().verify_healed()
        if not (evidence.proven and self._ports):
            return evidence
        left = {name: (half <= self._full.get(name, 0) / 2, _half_open(half)) for name, half in self._half().items()}
        return combine_evidence(combine_evidence(evidence, self._compared(_answered, "were answered")), each_node(left))

    def _half(self) -> dict[str, int]:
        """How many half-open connections each target has."""

        def look(name: str) -> int:
            return self._look(name).half

        return on_each(self._ports, look, "a look at a queue", ACTION_TIMEOUT_S).check("looking at queues")

    def _look(self, name: str) -> Queue:
        orders = {"do": "look", "pid": self._pids[name], "ports": self._ports[name]}
        self._queue[name] = msgspec.json.decode(run_program(self.targets[name], _PROGRAM, orders), type=Queue)
        return self._queue[name]

    def _knocked(self, good: Callable[[Tried], bool]) -> dict[Link, Tried]:
        """Knock at each port in turn, from everywhere; of several ports one that is not as wanted is told."""
        found: dict[Link, Tried] = {}
        for turn in range(max(map(len, self._ports.values()))):
            ports = {name: own[turn] for name, own in self._ports.items() if turn < len(own)}
            wanted = {(a, b): port for b, port in ports.items() for a in self.everyone if a != b}
            seen = connection_matrix.knock(self.everyone, wanted, WAIT_S)
            found |= {link: one for link, one in seen.items() if link not in found or not good(one)}
        return found

    def _compared(self, good: Callable[[Tried], bool], trips: str) -> Evidence:
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            knocked = self._knocked(good)
            passed = connection_matrix.measure(self.everyone, SIZE_BYTES, WAIT_S)
            disturbed = self._in_force.disturbed(self, began_ns)
            ours = judge(knocked, frozenset(knocked), disturbed, good, good, f"to its ports {trips}")
            evidence = combine_evidence(ours, judge(passed, frozenset(), disturbed, good, _passed, ""))
            evidence.details["looks"] = look
            if evidence.proven:
                break
        return beside_others(evidence, disturbed)


def _half_open(count: int) -> str:
    return f"has {count} half-open connections"


def _begins(one: Tried) -> bool:
    return one.began == "ok"


def _never_began(one: Tried) -> bool:
    return one.began == "timeout"


def _answered(one: Tried) -> bool:
    """Nothing listens where another fault ended the process."""
    return one.began in ("ok", "refused")


def _passed(one: Tried) -> bool:
    return one.said() == "passed"


def _path(name: str) -> str:
    return f"/proc/sys/net/ipv4/{name}"


def _set(values: Mapping[str, int]) -> tuple[Command, ...]:
    return tuple(("sh", "-c", f"echo {value} > {_path(name)}") for name, value in values.items())
