"""Many ranges of numbers as one column."""

import numpy as np

from checkers.history.columns import Ints


def spread(first: Ints, counts: Ints) -> Ints:
    """The numbers ``first[i]``, ``first[i] + 1``, … of all i, ``counts[i]`` of each."""
    total = int(counts.sum())
    return np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(total)
