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
    FOLLOWER = "follower"  # one that does not lead, as last observed
    FIXED = "fixed"  # those that --fault-nodes names
    RING = "majorities-ring"  # all, each with its neighbours in a drawn ring
    BRIDGE = "bridge"  # all, in two halves of a drawn order with one between them


WHOM: Final = {
    Selector.MINOR: "fewer than half of the nodes",
    Selector.MAJOR: "more than half of the nodes",
    Selector.RANDOM: "a random number of random nodes",
    Selector.ALL: "all nodes",
    Selector.LEADER: "the leader of a subject (drawn; or @controller, @SUBJECT, @all)",
    Selector.FOLLOWER: "a node of a subject that does not lead it (drawn; or @controller, @SUBJECT, @all)",
    Selector.FIXED: "the nodes that --fault-nodes names",
}
"""The selectors that go with any fault, in words."""

ANYBODY: Final = tuple(WHOM)
EXCEPT_ALL: Final = tuple(selector for selector in WHOM if selector is not Selector.ALL)
LED: Final = (Selector.LEADER, Selector.FOLLOWER)
"""Selectors that ask who leads a subject."""
EXACT: Final = (*LED, Selector.FIXED)
"""Selectors that take certain nodes; of a random group a one-way cut has its other way from the other side."""
