"""What faults of connections share: rules for a part of the TCP traffic, and connections that are tried as proof.

Datagrams do not see these faults, so all hosts try a connection to each other and have bytes sent back. A subclass says
which packets its rules catch and what becomes of a connection then.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from chaos.core.clock import now_ns
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour
from cluster.host import Capability, Host
from cluster.network import connection_matrix, packet_filter
from cluster.network.connection_matrix import Tried
from cluster.network.packet_filter import Rule
from nemesis.faults.links.link_fault import LOOKS, LinkFault
from nemesis.proof.evidence import beside_others, combine_evidence, first_few
from nemesis.targets.grudge import Grudge, Link, links_touching
from nemesis.targets.selectors import Selector

CONNECTIONS: Final = "connections"
WAIT_S: Final = 1.5
"""So long a connection may take to begin, and each piece to come back."""

SIZE_BYTES: Final = 60_000


class ConnectionFault(LinkFault):
    """Rules for a part of what passes on the links of the grudge."""

    colour: ClassVar[Colour] = "peach"
    in_all: ClassVar[bool] = False
    least_s: ClassVar[float] = 5.0
    needs: ClassVar[frozenset[Capability]] = LinkFault.needs | {Capability.PROGRAMS}
    trips: ClassVar[str] = "failed"
    """What connections over its links do, for people."""

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Every link of the targets, each way."""
        return links_touching(names, participants)

    like_its: ClassVar[Rule | None] = None
    """A rule like those that it needs, whoever the peer."""
    modules: ClassVar[str] = "nf_reject_ipv4 ipt_REJECT"
    """Those of the kernel that such a rule may lack."""

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Put such a rule into a chain that nothing leads to."""
        why = None if cls.like_its is None else packet_filter.why_refused(host, cls.like_its)
        return why and f"the packet filter takes no such rule: {why}; modprobe -a {cls.modules}"

    @abstractmethod
    def rule(self, address: str) -> Rule:
        """Which packets of a peer it catches."""

    @abstractmethod
    def failed(self, tried: Tried) -> bool:
        """Whether a connection went as it does under this fault."""

    def intact(self, tried: Tried) -> bool:
        """Whether a connection went as it does without this fault."""
        return tried.said() == "passed"

    def size(self) -> int:
        """So many bytes are sent back over each connection."""
        return SIZE_BYTES

    def tried(self) -> dict[Link, Tried]:
        """Try a connection on every link."""
        return connection_matrix.measure(self.everyone, self.size(), WAIT_S)

    def verify(self) -> Evidence:
        """Try connections on every link; where other faults hit all of ours, the rules are looked at instead."""
        if self.hit <= self._in_force.disturbed(self, now_ns()):
            return self.verify_still()
        return self._compared(self.hit)

    def verify_healed(self) -> Evidence:
        """No rule is left, every probe arrives, and every connection passes."""
        evidence = super().verify_healed()
        return combine_evidence(evidence, self._compared(frozenset())) if evidence.proven else evidence

    def _compared(self, hit: frozenset[Link]) -> Evidence:
        """Try until what is seen is as it should be, a few times at most."""
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            seen = self.tried()
            disturbed = self._in_force.disturbed(self, began_ns)
            evidence = judge(seen, hit, disturbed, self.failed, self.intact, self.trips)
            evidence.details["looks"] = look
            if evidence.proven:
                break
        return beside_others(evidence, disturbed)


def judge(
    seen: Mapping[Link, Tried],
    hit: frozenset[Link],
    disturbed: frozenset[Link],
    failed: Callable[[Tried], bool],
    intact: Callable[[Tried], bool],
    trips: str,
) -> Evidence:
    """Pure: what connections prove: over each link that is hit they failed in the fault's way, elsewhere they passed.

    Packets of a connection go both ways, so a link is hit if either of its directions is, and tells nothing if another
    fault hits either.

    Args:
        seen: what became of each connection.
        hit: the directions that the fault hits.
        disturbed: those that another fault hits.
        failed: whether a connection went as it does under this fault.
        intact: whether it went as it does without.
        trips: what connections do then, for people.
    """
    known = sorted(link for link in seen if link not in disturbed and link[::-1] not in disturbed)
    ours = [link for link in known if link in hit or link[::-1] in hit]
    others = [link for link in known if link not in ours]
    wrong = [link for link in ours if not failed(seen[link])]
    broken = [link for link in others if not intact(seen[link])]
    parts = [f"{len(ours) - len(wrong)} of {len(ours)} connections {trips}"] if hit else []
    if others:
        parts.append(f"{len(others) - len(broken)} of {len(others)} {'others' if hit else 'connections'} passed")
    if bad := wrong + broken:
        parts.append(f"wrong: {first_few([f'{a}→{b} {seen[a, b].said()}' for a, b in bad])}")
    ways = {f"{a}>{b}": seen[a, b].said() for a, b in known}
    details: dict[str, Any] = {
        "connections": dict(Counter(ways.values())),
        "hit": {f"{a}>{b}": ways[f"{a}>{b}"] for a, b in ours},
        "wrong": [f"{a}>{b}" for a, b in bad],
    }
    proven = not bad and bool(ours if hit else others)
    return Evidence(kind=CONNECTIONS, proven=proven, summary=", ".join(parts), details=details)
