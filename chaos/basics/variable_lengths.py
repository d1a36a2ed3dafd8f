"""Columns of parts that have lengths of their own, one part after the other."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def offsets(counts: npt.NDArray[np.integer]) -> Ints:
    """Where each part begins, and behind it all where the last one ends; one longer than ``counts``."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))


def spread(first: Ints, counts: npt.NDArray[np.integer]) -> Ints:
    """The numbers ``first[i]``, ``first[i] + 1``, … of all i, ``counts[i]`` of each."""
    begin = offsets(counts)
    found = np.repeat(first - begin[:-1], counts)
    found += np.arange(begin[-1])
    return found
