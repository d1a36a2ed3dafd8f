"""How many nodes of a pool a fault may take, by its selector (SEMANTICS 21). Pure."""

from typing import Final

from nemesis.faults.fault import Fault
from nemesis.targets.selectors import Selector

_LEAST: Final = {Selector.RING: 4, Selector.BRIDGE: 3}
"""Of how many nodes a ring has somebody to cut off, and a bridge two sides."""


def count_bounds(selector: Selector, fault: type[Fault], nodes: int, *, replicas: bool) -> tuple[int, int]:
    """The least and the greatest number of nodes that a fault may take of ``nodes`` (SEMANTICS 21).

    Kill and suspend leave one replica unless named ``all-``; a partition leaves somebody on the other
    side. The greatest is 0 if the fault cannot be done to so few nodes; of ``fixed-`` it is how many may be named.
    """
    if selector in _LEAST:
        return (nodes, nodes) if nodes >= _LEAST[selector] else (0, 0)
    sizes = {
        Selector.MINOR: ((nodes - 1) // 2,) * 2,
        Selector.MAJOR: (nodes // 2 + 1,) * 2,
        Selector.RANDOM: (1, nodes),
        Selector.ALL: (nodes, nodes),
        Selector.LEADER: (1, 1),
        Selector.FOLLOWER: (1, 1),
        Selector.FIXED: (1, nodes),
    }
    least, greatest = sizes[selector]
    spared = 0
    if selector is not Selector.ALL and (fault.cuts or (replicas and not fault.on_links())):
        spared = 1
    limit = max(0, nodes - spared) if nodes > 1 or not fault.on_links() else 0
    return min(least, limit), min(greatest, limit)
