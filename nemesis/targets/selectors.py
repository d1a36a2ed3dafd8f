"""Whom: how many of n nodes a fault takes, or which (SEMANTICS 21)."""

from enum import StrEnum
from typing import Final


class Selector(StrEnum):
    """How the nodes of a fault are chosen."""

    MINOR = "minor"  # floor((n - 1) / 2)
    MAJOR = "major"  # floor(n / 2) + 1
    RANDOM = "random"  # 1..n
    ALL = "all"
    LEADER = "leader"  # as last observed
    FIXED = "fixed"  # those that --fault-nodes names
    RING = "majorities-ring"  # all, each with its neighbours in a drawn ring
    BRIDGE = "bridge"  # all, in two halves of a drawn order with one between them


WHOM: Final = {
    Selector.MINOR: "fewer than half of the nodes",
    Selector.MAJOR: "more than half of the nodes",
    Selector.RANDOM: "a random number of random nodes",
    Selector.ALL: "all nodes",
    Selector.LEADER: "the leader: the master, or the active controller with @controller",
    Selector.FIXED: "the nodes that --fault-nodes names",
}
"""The selectors that go with any fault, in words."""

ANYBODY: Final = tuple(WHOM)
EXCEPT_ALL: Final = tuple(selector for selector in WHOM if selector is not Selector.ALL)
EXACT: Final = (Selector.LEADER, Selector.FIXED)
"""Selectors that take certain nodes; of a random group a one-way cut has its other way from the other side."""
