"""A largest matching of places to whom each may be given to, by augmenting paths (Kuhn, 1955)."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Place = TypeVar("Place", bound=Hashable)
Taker = TypeVar("Taker", bound=Hashable)


def unmatched(options: Mapping[Place, Sequence[Taker]]) -> list[Place]:
    """The places that are left over, where each taker takes one at most; as few as can be.

    Places that come first are matched first and stay so.
    """
    taken: dict[Taker, Place] = {}
    return [place for place in options if not _augment(place, options, taken)]


def _augment(place: Place, options: Mapping[Place, Sequence[Taker]], taken: dict[Taker, Place]) -> bool:
    """Give a place to somebody, moving others; without recursion, as paths may be long."""
    came_from: dict[Taker, Place] = {}
    waiting = [place]
    while waiting:
        one = waiting.pop()
        for taker in options[one]:
            if taker in came_from:
                continue
            came_from[taker] = one
            if taker in taken:
                waiting.append(taken[taker])
                continue
            free: Taker | None = taker
            while free is not None:
                holder = came_from[free]
                before = next((other for other, own in taken.items() if own == holder), None)
                taken[free] = holder
                if before is not None:
                    del taken[before]
                free = before
            return True
    return False
