"""A neighbour entry with a hardware address that nobody has: what the targets send to the others goes to nobody.

One way: the others' packets arrive, and the answers are lost, as after a failover whose gratuitous ARP got lost. No
error is told to anybody, so connections, new and old, wait until they give up.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from chaos.core.errors import ChaosError
from chaos.core.fault_nature import Colour
from cluster.host import Host
from nemesis.faults.links.blackhole import HELP
from nemesis.faults.links.kernel_change import Change, KeptChange, check_control, device, output_of, why_impossible
from nemesis.proof import evidence
from nemesis.targets.grudge import Grudge, Link, one_way
from nemesis.targets.selectors import Selector

_NOBODY: Final = "192.0.2.1"


class WrongArp(KeptChange):
    """A permanent entry for each of the others, on each target."""

    name: ClassVar[str] = "wrong-arp"
    verb: ClassVar[str] = "sent to a wrong hardware address"
    help: ClassVar[str] = "one way: give {} a wrong hardware address (MAC) for the others, so that nothing arrives"
    colour: ClassVar[Colour] = "violet"

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Nobody gets what the targets send."""
        return {name: lost for name, lost in one_way(names, participants).items() if lost}

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Whose."""
        return f"{' '.join(names)}, wrong hardware addresses for the others"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Add an entry for nobody, and remove it."""
        try:
            own = device(host)
        except ChaosError as error:
            return f"{error}; {HELP}"
        back = ("ip", "-4", "neigh", "del", _NOBODY, "dev", own)
        return why_impossible(host, [_entry(_NOBODY, _nobodys(), own)], [back], HELP)

    def peers(self, name: str) -> tuple[Host, ...]:
        """Those whom a target does not reach."""
        return tuple(self._hosts[b] for a, b in sorted(self.hit) if a == name)

    def state(self, name: str, host: Host) -> str:
        """The permanent entries for these peers; what the kernel learned by itself comes and goes."""
        wanted = {peer.address for peer in self.peers(name)}
        lines = output_of(host, "ip", "-4", "neigh", "show", "nud", "permanent").splitlines()
        return ", ".join(sorted(line for line in lines if line.split()[0] in wanted))

    def change(self, name: str, host: Host, before: str) -> Change:
        """One entry for each peer."""
        peers = self.peers(name)
        check_control(host, peers)
        if before:
            raise ChaosError(f"somebody has given it permanent entries already, which would be lost: {before}")
        far = [
            peer.name for peer in peers if "via" in output_of(host, "ip", "-4", "route", "get", peer.address).split()
        ]
        if far:
            raise ChaosError(f"a router lies between it and {' '.join(far)}, whose hardware addresses it does not need")
        own = device(host)
        return Change(
            put=tuple(_entry(peer.address, _nobodys(), own) for peer in peers),
            back=tuple(("ip", "-4", "neigh", "del", peer.address, "dev", own) for peer in peers),
        )

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """Nothing from the targets to the others, everything the other way and elsewhere."""
        return evidence.cut(self.hit, frozenset(), (self.inside | self.others) - disturbed, received, sent)


def _entry(address: str, hardware: str, own: str) -> tuple[str, ...]:
    return ("ip", "-4", "neigh", "replace", address, "lladdr", hardware, "dev", own, "nud", "permanent")


def _nobodys() -> str:
    """A hardware address that no maker gives to an interface, and by chance nobody has."""
    return ":".join(f"{byte:02x}" for byte in (0x02, *secrets.token_bytes(5)))
