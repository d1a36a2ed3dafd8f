"""Drop what other nodes send to TCP ports of the targets, as a firewall rule that somebody got wrong does.

Everything else passes: what the targets themselves connect to, and clients. Proven by connections to these very ports,
compared with some just before.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from chaos.core.errors import ChaosError
from cluster.cluster import Node
from cluster.network import connection_matrix
from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Rule
from cluster.nodes import process
from nemesis.faults.connections.connection_fault import WAIT_S, ConnectionFault
from nemesis.faults.fault import Scene, on_each
from nemesis.faults.programs import ACTION_TIMEOUT_S
from nemesis.targets.grudge import Grudge, Link
from nemesis.targets.selectors import Selector

# The TCP ports on which one process listens, the lowest first.
_PORTS: Final = """\
import os, sys
own = set()
for fd in os.listdir(f"/proc/{sys.argv[1]}/fd"):
    try:
        own.add(os.readlink(f"/proc/{sys.argv[1]}/fd/{fd}"))
    except OSError:
        continue
found = set()
for table in ("tcp", "tcp6"):
    try:
        rows = open(f"/proc/{sys.argv[1]}/net/{table}", encoding="ascii").read().splitlines()[1:]
    except OSError:
        continue
    for row in map(str.split, rows):
        if row[3] == "0A" and f"socket:[{row[9]}]" in own and not row[1].startswith("0100007F"):
            found.add(int(row[1].rpartition(":")[2], 16))
print(*sorted(found))
"""


_ALL: Final = "all"


class BlockPortParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which one."""

    port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | Literal["all"],
        Meta(description="the TCP port; all: every one on which the node's process listens"),
    ] = "all"


class BlockPort(ConnectionFault):
    """What nodes send to these ports is dropped at the targets."""

    name: ClassVar[str] = "block-port"
    verb: ClassVar[str] = "cut off from a port"
    help: ClassVar[str] = "drop what other nodes send to a TCP port of {}; clients and all else pass"
    Params: ClassVar[type[msgspec.Struct]] = BlockPortParams
    trips: ClassVar[str] = "to the blocked ports never began"
    like_its: ClassVar[Rule | None] = Rule("", match="-p tcp -m tcp --dport 1")
    modules: ClassVar[str] = "xt_tcpudp"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._targets: dict[str, Node] = {name: scene.cluster.nodes[name] for name in scene.targets.grudge}
        self._peers = {name: tuple(sorted(peers)) for name, peers in scene.targets.grudge.items()}
        self._port: dict[str, int] = {}

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """The targets drop."""
        return {name: frozenset(participants) - {name} for name in names}

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Which port."""
        which = "every port" if params.port == _ALL else f"port {params.port}"
        return f"{' '.join(names)}, {which} blocked for other nodes"

    def rule(self, address: str) -> Rule:
        """What a peer sends to the port that was named."""
        return _rule(address, self.params.port)

    def failed(self, tried: Tried) -> bool:
        """It never began."""
        return tried.began == "timeout"

    def intact(self, tried: Tried) -> bool:
        """The target answered, be it that nothing listens now because another fault ended its process."""
        return tried.began in ("ok", "refused")

    def act(self) -> None:
        """Find the ports, see that they answer, and block them."""
        ports = on_each(self._targets, self._ports, "a look at ports", ACTION_TIMEOUT_S).check("looking for ports")
        self._rules = {
            name: tuple(_rule(self._hosts[peer].address, port) for peer in self._peers[name] for port in ports[name])
            for name in self._targets
        }
        self._port = {name: found[0] for name, found in ports.items()}
        dead = sorted({link[1] for link, tried in self.tried().items() if tried.said() != "passed"})
        if dead:
            raise ChaosError(f"nothing answers on the port even before the fault: {' '.join(dead)}")
        super().act()

    def tried(self) -> dict[Link, Tried]:
        """Knock at the first blocked port of each target, from everywhere."""
        wanted = {(a, b): port for b, port in self._port.items() for a in self.everyone if a != b}
        return connection_matrix.knock(self.everyone, wanted, WAIT_S)

    def _ports(self, name: str) -> tuple[int, ...]:
        node = self._targets[name]
        if self.params.port != _ALL:
            return (self.params.port,)
        pid = process.state(node).pid
        if pid is None:
            raise ChaosError("has no process")
        done = node.host.run("python3", "-I", "-S", "-c", _PORTS, str(pid), timeout_s=ACTION_TIMEOUT_S)
        found = tuple(map(int, done.check(f"{name}: looking for its ports").text.split()))
        if not found:
            raise ChaosError("its process listens on no port")
        return found


def _rule(address: str, port: int) -> Rule:
    return Rule(address, match=f"-p tcp -m tcp --dport {port}")
