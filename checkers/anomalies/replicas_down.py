"""Which replicas were certainly away, and when: by faults alone, as far as these were proven.

A process that was killed, stopped or suspended, and a host that was taken off the network, takes nothing in from the
end of the fault's act to the beginning of its first heal; both ends were looked at from outside. The module concludes
nothing from cuts and loss, which let through what was under way, and nothing from a fault that was not seen to begin
and to last.
"""

from typing import NamedTuple

from checkers.history.check_input import Context
from checkers.history.timeline import FaultSpan


class Away(NamedTuple):
    """One node away under one fault, from ``first_ns`` to ``last_ns``."""

    node: str
    position: int
    first_ns: int
    last_ns: int
    fault: FaultSpan

    @property
    def verb(self) -> str:
        """What was done to it."""
        return self.fault.identity.nature.verb


def replicas_away(context: Context) -> list[Away]:
    """The stretches over which a replica was certainly away, by time."""
    run = context.run
    out = []
    for fault in context.timeline.injected():
        nature = fault.identity.nature
        if not (fault.proven and fault.lasted and nature.hits == "nodes" and nature.silences):
            continue
        if fault.active_ns is None or fault.heal_ns is None:
            continue
        for position, node in enumerate(run.nodes):
            if node.name in fault.targets and node.name in run.replicas:
                out.append(Away(node.name, position, fault.active_ns, fault.heal_ns, fault))
    return out
