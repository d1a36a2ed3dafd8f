"""Operations counted per step by the error that they met, and by the node that answered. Pure."""

from typing import Final

import numpy as np
import numpy.typing as npt

from checkers.history.check_input import QueueShard
from checkers.history.columns import Ints, Mask
from checkers.recovery.errors_by_node import OTHERS, number_errors

ERRORS: Final = 60
"""So many different errors are counted by themselves; what is rarer is counted together."""


def errors_by_step(shard: QueueShard, chosen: Mask, at: Ints, steps: int) -> dict[str, Ints]:
    """Error → operations per step. ``chosen``: which operations count; ``at``: the step of each operation."""
    ops = np.flatnonzero(chosen)
    texts, numbers = number_errors(shard, ops)
    counts = np.bincount(numbers * steps + at[ops], minlength=len(texts) * steps).reshape(len(texts), steps)
    return most_frequent(dict(zip(texts, counts, strict=True)))


def most_frequent(counts: dict[str, Ints]) -> dict[str, Ints]:
    """The most frequent errors, the others added up."""
    if len(counts) <= ERRORS:
        return counts
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] == OTHERS, -int(pair[1].sum()), pair[0]))
    rest = [own for _, own in ordered[ERRORS:]]
    return {**dict(ordered[:ERRORS]), OTHERS: np.sum(rest, axis=0)}


def by_pair(code: npt.NDArray[np.signedinteger], at: Ints, steps: int) -> dict[tuple[int, int], Ints]:
    """(what, type) → operations per step. ``code``: 16 × what + type of each operation, of few different ones."""
    most = int(code.max(initial=-1)) + 1
    counts = np.bincount(code.astype(np.int64) * steps + at, minlength=most * steps).reshape(most, steps)
    return {(one // 16, one % 16): counts[one] for one in np.flatnonzero(counts.any(axis=1)).tolist()}


def by_node(
    nodes: npt.NDArray[np.signedinteger], kinds: Ints, chosen: Mask, at: Ints, steps: int
) -> dict[tuple[int, int], Ints]:
    """(place of the node that answered, type) → operations per step."""
    return by_pair(nodes[chosen] * 16 + kinds[chosen], at[chosen], steps)
