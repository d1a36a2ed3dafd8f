"""How far the wall clocks of brokers may have been from the control host's, and from each other (SEMANTICS 20).

Machines that are reached by SSH have clocks of their own. Each is compared with the control host's before and after the
run, with an error of half a round trip. What it showed in between lies in the hull of both, unless it was set there and
back. Where no clock was compared the hosts share the control host's.
"""

from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S
from checkers.history.check_input import Context

UNKNOWN_NS: Final = 1 << 60
"""A bound that nothing is known of; a sum of a few with any time of a run fits in 64 bits."""

_TWICE: Final = 2


class Skew(msgspec.Struct, frozen=True):
    """How much replicas' wall clocks were ahead of the control host's, at least and at most, in ns.

    ``why``: the reason if it is not known.
    """

    least_ns: int = 0
    most_ns: int = 0
    why: str = ""

    @property
    def early_ns(self) -> int:
        """So much before its time, at most, an honest replica may have done something by its own clock."""
        return max(self.most_ns, 0)

    @property
    def early_for_certain_ns(self) -> int:
        """So much before its time every honest replica did it."""
        return max(self.least_ns, 0)

    @property
    def late_ns(self) -> int:
        """So much after its time, at most, an honest replica may have done something by its own clock."""
        return max(-self.least_ns, 0)

    @property
    def spread_ns(self) -> int:
        """So much a span may differ that one replica began to measure and another, or the same one later, ended."""
        return min(self.most_ns - self.least_ns, UNKNOWN_NS)

    def __str__(self) -> str:
        """The skew for people."""
        if self.why:
            return f"are not known ({self.why})"
        least_s, most_s = self.least_ns / NS_PER_S, self.most_ns / NS_PER_S
        return f"were {least_s:+.3f} s to {most_s:+.3f} s ahead of the control host's"


def replicas_skew(context: Context) -> Skew:
    """The hull over all replicas, since any of them may have led when it mattered."""
    clocks, run = context.timeline.clocks, context.run
    if not clocks:
        return Skew()
    replicas = [node.name for node in run.nodes if run.roles.get(node.role) == "replica"]
    seldom = [name for name in replicas if len(clocks.get(name, ())) < _TWICE]
    if seldom:
        times = "only once" if clocks.get(seldom[0]) else "never"
        return Skew(-UNKNOWN_NS, UNKNOWN_NS, f"{seldom[0]}'s was compared {times}")
    own = [seen for name in replicas for seen in clocks[name]]
    return Skew(
        min((ahead_ns - error_ns for ahead_ns, error_ns in own), default=0),
        max((ahead_ns + error_ns for ahead_ns, error_ns in own), default=0),
    )
