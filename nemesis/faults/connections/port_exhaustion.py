"""Leave no ephemeral TCP port: the targets make no connection any more, and keep those that they have.

The range of ports that the kernel gives is narrowed to a few, and a program of ours holds all of them. What others
connect to goes on. A new connection fails at once with EADDRNOTAVAIL, whoever it is to, as on a node that leaks them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from chaos.core.clock import now_ns
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.host import Host
from cluster.network import connection_matrix
from cluster.network.connection_matrix import Tried
from nemesis.faults.connections.connection_fault import CONNECTIONS, SIZE_BYTES, WAIT_S
from nemesis.faults.fault import Scene
from nemesis.faults.links.kernel_change import Change, Command, KeptChange, output_of, why_impossible
from nemesis.faults.links.kernel_change_program import PORT_RANGE
from nemesis.faults.links.link_fault import LOOKS
from nemesis.proof.evidence import beside_others, combine_evidence, first_few
from nemesis.targets.grudge import Link, all_links
from nemesis.targets.selectors import Selector

HELD: Final = 64
"""So many ports stay in the range: datagrams, of which there may be as many, need some too."""

NO_PORT: Final = "EADDRNOTAVAIL"
HELP: Final = "run as root; a container needs --privileged"


class PortExhaustion(KeptChange):
    """The range of ephemeral ports of each target's host."""

    name: ClassVar[str] = "port-exhaustion"
    verb: ClassVar[str] = "out of ports"
    help: ClassVar[str] = "use up the ports of {} for new outgoing TCP connections"
    hits: ClassVar[Hits] = "nodes"
    colour: ClassVar[Colour] = "peach"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self.hit = frozenset(link for link in all_links(self.everyone) if link[0] in self.targets)
        self.touched = frozenset()
        # Datagrams pass, and so does what others connect to.

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Whose."""
        return f"{' '.join(names)}, no port for new connections"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Write the range that there is."""
        return why_impossible(
            host, [("sh", "-c", f"range=$(cat {PORT_RANGE}) && echo $range > {PORT_RANGE}")], [], HELP
        )

    def state(self, name: str, host: Host) -> str:  # noqa: ARG002 - of the host
        """The range."""
        return output_of(host, "cat", PORT_RANGE)

    def change(self, name: str, host: Host, before: str) -> Change:  # noqa: ARG002 - as ``state``
        """A few ports, all held; which, is the program's choice: those that are free."""
        back: Command = ("sh", "-c", f"echo {before} > {PORT_RANGE}")
        return Change(put=(), back=(back,), hold_ports=HELD)

    def verify(self) -> Evidence:
        """Try connections on every link."""
        return self._compared(self.hit)

    def verify_healed(self) -> Evidence:
        """Everything is as before, and connections pass on every link."""
        evidence = super().verify_healed()
        return combine_evidence(evidence, self._compared(frozenset())) if evidence.proven else evidence

    def _compared(self, hit: frozenset[Link]) -> Evidence:
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            seen = connection_matrix.measure(self.everyone, SIZE_BYTES, WAIT_S)
            disturbed = self._in_force.disturbed(self, began_ns)
            evidence = judge(seen, hit, disturbed)
            evidence.details["looks"] = look
            if evidence.proven:
                break
        return beside_others(evidence, disturbed)


def judge(seen: Mapping[Link, Tried], hit: frozenset[Link], disturbed: frozenset[Link]) -> Evidence:
    """Pure: what connections prove: from the targets none begins for want of a port, all others pass.

    Args:
        seen: what became of each connection.
        hit: from a target, to anybody.
        disturbed: the directions that another fault hits; packets of a connection go both ways.
    """
    known = sorted(link for link in seen if link not in disturbed and link[::-1] not in disturbed)
    ours, others = [link for link in known if link in hit], [link for link in known if link not in hit]
    wrong = [link for link in ours if seen[link].began != NO_PORT]
    broken = [link for link in others if seen[link].said() != "passed"]
    parts = [f"{len(ours) - len(wrong)} of {len(ours)} connections found no port"] if hit else []
    if others:
        parts.append(f"{len(others) - len(broken)} of {len(others)} {'others' if hit else 'connections'} passed")
    if bad := wrong + broken:
        parts.append(f"wrong: {first_few([f'{a}→{b} {seen[a, b].said()}' for a, b in bad])}")
    details: dict[str, Any] = {
        "hit": {f"{a}>{b}": seen[a, b].said() for a, b in ours},
        "wrong": [f"{a}>{b}" for a, b in bad],
    }
    proven = not bad and bool(ours if hit else others)
    return Evidence(kind=CONNECTIONS, proven=proven, summary=", ".join(parts), details=details)
