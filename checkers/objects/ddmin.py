"""Delta debugging: the fewest of some things that still show what all of them show.

Source of the algorithm: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input (TSE 2002), ``ddmin``.
"""

from collections.abc import Callable

import numpy as np

from checkers.history.columns import Ints


def smallest(items: Ints, shows: Callable[[Ints], bool], more: Callable[[], bool]) -> Ints:
    """The items that all are needed to show it: parts are left out, ever smaller ones, as long as the rest shows it.

    Args:
        items: what shows it.
        shows: whether some of them, in the same order, do.
        more: whether it may be asked again; what is left then is shown, and perhaps not the smallest.
    """
    parts = 2
    while len(items) > 1 and more():
        for part in np.array_split(np.arange(len(items)), parts):
            rest = np.delete(items, part)
            if more() and len(rest) and shows(rest):
                items, parts = rest, max(parts - 1, 2)
                break
        else:
            if parts >= len(items):
                break
            parts = min(2 * parts, len(items))
    return items
