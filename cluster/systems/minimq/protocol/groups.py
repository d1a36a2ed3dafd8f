"""Replica groups: what they are called and which queue is whose.

Every group has brokers of its own and a master of its own, elected by the same controllers. Queue q belongs to group
q mod the number of groups, counted from 0. Pure; nodes use it as well as the harness.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

ONE: Final = "brokers"
"""The name of the only group where there is one."""

GROUPS_MOST: Final = 4

_Node = TypeVar("_Node")


def names(groups: int) -> tuple[str, ...]:
    """The names of all groups, in order."""
    return (ONE,) if groups == 1 else tuple(f"{ONE}-{number}" for number in range(1, groups + 1))


def owns(group: str, queue: int, groups: int) -> bool:
    """Whether a queue belongs to a group."""
    return names(groups)[queue % groups] == group


def members(brokers: Sequence[_Node], groups: int) -> dict[str, tuple[_Node, ...]]:
    """Group → its brokers: the first of all, in order, are the first group's."""
    each = -(-len(brokers) // groups)
    return {name: tuple(brokers[i * each : (i + 1) * each]) for i, name in enumerate(names(groups))}
