"""Fill the kernel's table of connections: a stateful firewall then drops every packet of what it does not know yet.

How long the table may get is the machine's, and cannot be set for one host in namespaces; how many entries a host has
is counted for each. So a rule has the kernel of each target track connections, and a program makes as many entries as
the table takes (``conntrack_program.py``), each of about 300 bytes of the kernel's memory. Connections that carry
packets just before go on; new ones do not begin, and datagrams are lost. Proven by connections and by the kernel's
count.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from chaos.core.clock import now_ns
from chaos.core.errors import ChaosError
from chaos.core.events import Evidence
from chaos.core.fault_nature import Colour, Hits
from cluster.host import Host
from cluster.network import connection_matrix
from cluster.network.connection_matrix import Tried
from nemesis.faults.connections import conntrack_program
from nemesis.faults.connections.connection_fault import SIZE_BYTES, WAIT_S, judge
from nemesis.faults.connections.filler import filler
from nemesis.faults.fault import Scene, on_each
from nemesis.faults.links.kernel_change import Change, Command, KeptChange, output_of
from nemesis.faults.links.link_fault import LOOKS
from nemesis.faults.programs import ACTION_TIMEOUT_S, run_program
from nemesis.proof.evidence import beside_others, combine_evidence, each_node
from nemesis.targets.grudge import Link
from nemesis.targets.selectors import Selector

HELP: Final = "run as root, on a kernel with nf_conntrack and nf_conntrack_netlink; a container needs --privileged"
_PROGRAM: Final = Path(conntrack_program.__file__)
_FOLDER: Final = "/proc/sys/net/netfilter"
_ENOUGH: Final = 0.999
"""So full is the table at least: places become free for a moment."""

_KNOWN_S: Final = 1
"""So long the kernel gets to know the connections that there are, before the table is filled."""

_TRACKING: Final = "INPUT -m conntrack --ctstate NEW -m comment --comment"
# $1 what to do with the rule, then its words: it matches, and does nothing.
_RULE: Final = """\
for variant in iptables iptables-nft iptables-legacy; do "$variant" -w 5 "$@" 2>/dev/null && exit; done; exit 1
"""


class ConntrackParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be taken."""

    most: Annotated[int, Meta(ge=0, le=2_000_000, description="so many entries are made at most; 0 does nothing")] = (
        300_000
    )


class Conntrack(KeptChange):
    """The table of connections of each target's kernel."""

    name: ClassVar[str] = "conntrack"
    verb: ClassVar[str] = "with a full table of connections"
    help: ClassVar[str] = "fill the connection tracking table of {}: packets of new connections are dropped"
    hits: ClassVar[Hits] = "nodes"
    Params: ClassVar[type[msgspec.Struct]] = ConntrackParams
    colour: ClassVar[Colour] = "peach"
    least_s: ClassVar[float] = 10.0

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        everything = self.hit | self.inside | self.others
        self.hit = frozenset(link for link in everything if not self.targets.keys().isdisjoint(link))
        self.touched = self.hit if self.params.most else frozenset()
        self._mark = secrets.randbits(31) + 1

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Whose."""
        return f"{' '.join(names)}, table of connections full"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Track connections, make an entry and remove it."""
        if host.control is not None:
            return "commands reach this machine by new connections, which it would drop; use --backend netns or docker"
        name = f"chaos-{secrets.randbits(40):010x}"
        try:
            output_of(host, *_rule("-A", name))
            run_program(host, _PROGRAM, {"do": "try"})
        except ChaosError as error:
            return f"{error}; {HELP}"
        finally:
            host.run(*_rule("-D", name), timeout_s=ACTION_TIMEOUT_S)
        return None

    def act(self) -> None:
        """Fill the tables of all targets at once."""
        if self.params.most:
            super().act()

    @property
    def _name(self) -> str:
        return f"chaos-{self._mark:08x}"

    def state(self, name: str, host: Host) -> str:  # noqa: ARG002 - of the host
        """Whether our rule is there."""
        done = host.run(*_rule("-C", self._name), timeout_s=ACTION_TIMEOUT_S)
        return f"{'a' if done.returncode == 0 else 'no'} rule that tracks"

    def change(self, name: str, host: Host, before: str) -> Change:  # noqa: ARG002 - as ``state``
        """Track connections, then fill; end what fills, and remove its entries and the rule."""
        if host.control is not None:
            raise ChaosError("commands reach it by new connections, which it would drop")
        orders = {"do": "fill", "mark": self._mark, "most": self.params.most}
        file = f"{self._resident.pid_file(host)}.filler"
        fill, back = filler(host, file, _PROGRAM, orders, {"do": "back", "mark": self._mark})
        return Change(
            put=(_rule("-A", self._name), ("sleep", str(_KNOWN_S)), fill), back=(back, _rule("-D", self._name))
        )

    def verify(self) -> Evidence:
        """Try connections on every link, and read the kernel's count."""
        if not self.params.most:
            return each_node(dict.fromkeys(self.targets, (False, "has room in its table: most is 0")))
        return combine_evidence(self._compared(self.hit), self._counted())

    def verify_still(self) -> Evidence:
        """Ask every kernel whether the rule is there, and the table full."""
        return combine_evidence(super().verify_still(), self._counted()) if self.params.most else self.verify()

    def verify_healed(self) -> Evidence:
        """Everything is as before, connections pass on every link, and the table has room."""
        evidence = super().verify_healed()
        if not evidence.proven:
            return evidence
        return combine_evidence(combine_evidence(evidence, self._compared(frozenset())), self._counted(full=False))

    def _counted(self, *, full: bool = True) -> Evidence:
        def look(name: str) -> tuple[bool, str]:
            count, most = map(int, output_of(self.targets[name], "cat", *_COUNTS).split())
            good = count >= most * _ENOUGH if full else count < most / 2
            return good, f"has {count:,} of {most:,} entries in its table of connections"

        looks = on_each(self.targets, look, "a look at the table", ACTION_TIMEOUT_S)
        return each_node(looks.facts(lambda _, fact: fact))

    def _compared(self, hit: frozenset[Link]) -> Evidence:
        for look in range(1, LOOKS + 1):
            began_ns = now_ns()
            seen = connection_matrix.measure(self.everyone, SIZE_BYTES, WAIT_S)
            disturbed = self._in_force.disturbed(self, began_ns)
            evidence = judge(seen, hit, disturbed, _never_began, _passed, "never began")
            evidence.details["looks"] = look
            if evidence.proven:
                break
        return beside_others(evidence, disturbed)


_COUNTS: Final = (f"{_FOLDER}/nf_conntrack_count", f"{_FOLDER}/nf_conntrack_max")


def _rule(what: str, name: str) -> Command:
    return ("sh", "-c", _RULE, "sh", what, *_TRACKING.split(), name)


def _never_began(one: Tried) -> bool:
    return one.began == "timeout"


def _passed(one: Tried) -> bool:
    return one.said() == "passed"
