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
    given: dict[Place, Taker] = {}
    return [place for place in options if not _augment(place, options, taken, given)]


def _augment(
    place: Place,
    options: Mapping[Place, Sequence[Taker]],
    taken: dict[Taker, Place],
    given: dict[Place, Taker],
) -> bool:
    """Give a place to a taker, and move others for it. There is no recursion, as paths may be long.

    ``taken`` and ``given`` are the matching so far, read either way; both are changed.
    """
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
                before = given.get(holder)
                taken[free], given[holder] = holder, free
                free = before
            return True
    return False
