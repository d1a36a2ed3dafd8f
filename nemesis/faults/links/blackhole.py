"""A route that leads nowhere: what the targets send to the others vanishes in their own kernel.

One way: the others' packets arrive where ``rp_filter`` is 0, and are answered by nobody. A connection that lives stands
still; a new one fails at once with the error of the route. Clients have other addresses and keep their routes.
"""

import itertools
import secrets
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from chaos.core.fault_nature import Colour
from cluster.host import Host
from nemesis.faults.fault import Scene
from nemesis.faults.links.kernel_change import Change, KeptChange, check_control, output_of, why_impossible
from nemesis.proof import evidence
from nemesis.targets.grudge import Grudge, Link, one_way
from nemesis.targets.selectors import Selector

Kind = Literal["blackhole", "unreachable", "prohibit"]
"""Of a route, as ``ip route`` names them."""

HELP: Final = "install iproute2, run as root"
_PROTOCOL: Final = "231"
"""Marks our routes: a number that nobody has been given."""

_METRICS: Final = range(1_000, 1_000_000)
_NOBODY: Final = "192.0.2.1"


class BlackholeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the sender is told."""

    kind: Annotated[
        Kind, Meta(description="of the route: blackhole gives EINVAL, unreachable EHOSTUNREACH, prohibit EACCES")
    ] = "blackhole"


class Blackhole(KeptChange):
    """A route of that kind to each of the others, on each target."""

    name: ClassVar[str] = "blackhole"
    verb: ClassVar[str] = "without a route to the others"
    help: ClassVar[str] = "one way: give {} a route to the others that leads nowhere"
    Params: ClassVar[type[msgspec.Struct]] = BlackholeParams
    colour: ClassVar[Colour] = "violet"

    def __init__(self, scene: Scene) -> None:
        """Remember the scene; touch nothing."""
        super().__init__(scene)
        self._metric = str(secrets.choice(_METRICS))

    @classmethod
    def grudge(cls, selector: Selector, names: Sequence[str], participants: Sequence[str]) -> Grudge:  # noqa: ARG003
        """Nobody gets what the targets send."""
        return {name: lost for name, lost in one_way(names, participants).items() if lost}

    @classmethod
    def describe(cls, selector: Selector, names: Sequence[str], others: Sequence[str], params: Any) -> str:  # noqa: ARG003
        """Which kind of route."""
        return f"{' '.join(names)}, {params.kind} routes to the others"

    @classmethod
    def obstacle(cls, host: Host) -> str | None:
        """Add such a route to nobody, and remove it."""
        route = ("blackhole", f"{_NOBODY}/32", "proto", _PROTOCOL, "metric", str(secrets.choice(_METRICS)))
        return why_impossible(
            host, [("ip", "-4", "route", "add", *route)], [("ip", "-4", "route", "del", *route)], HELP
        )

    def peers(self, name: str) -> tuple[Host, ...]:
        """Those whom a target does not reach."""
        return tuple(self._hosts[b] for a, b in sorted(self.hit) if a == name)

    def state(self, name: str, host: Host) -> str:
        """The routes to exactly these peers, without those of another fault of this kind."""
        found = (
            output_of(host, "ip", "-4", "route", "show", "to", "exact", f"{to.address}/32") for to in self.peers(name)
        )
        lines = (line for each in found for line in each.splitlines())
        return ", ".join(line for line in lines if not self._of_another(line.split()))

    def _of_another(self, words: Sequence[str]) -> bool:
        after = dict(itertools.pairwise(words))
        return after.get("proto") == _PROTOCOL and after.get("metric") != self._metric

    def change(self, name: str, host: Host, before: str) -> Change:  # noqa: ARG002 - what is there stays
        """One route for each peer."""
        check_control(host, self.peers(name))
        routes = [
            (self.params.kind, f"{to.address}/32", "proto", _PROTOCOL, "metric", self._metric)
            for to in self.peers(name)
        ]
        return Change(
            put=tuple(("ip", "-4", "route", "add", *route) for route in routes),
            back=tuple(("ip", "-4", "route", "del", *route) for route in routes),
        )

    def judge(self, received: Mapping[Link, int], sent: int, disturbed: frozenset[Link]) -> evidence.Judged:
        """Nothing from the targets to the others, everything elsewhere; what comes back tells nothing."""
        others = (self.inside | self.others) - self.touched - disturbed
        return evidence.cut(self.hit, frozenset(), others, received, sent)
