"""Latencies as counts in buckets that grow by a tenth, so that those of many queues add up.

Does not keep single values: a quantile is the upper edge of its bucket, at most the slowest of all.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from checkers.history.columns import Ints

BUCKETS: Final = 160
_FIRST_MS: Final = 0.05
_GROWTH: Final = 1.1


def bucket_of(latency_ms: npt.NDArray[np.float64]) -> Ints:
    """The bucket of each latency; the last one holds all above 0.05 ms · 1.1^159, which is three minutes."""
    bucket = np.log(np.maximum(latency_ms, _FIRST_MS) / _FIRST_MS) / np.log(_GROWTH)
    clipped: Ints = np.clip(bucket.astype(np.int64), 0, BUCKETS - 1)
    return clipped


def edges_ms() -> list[float]:
    """Where each bucket ends."""
    return [round(_FIRST_MS * _GROWTH ** (bucket + 1), 4) for bucket in range(BUCKETS)]


def to_sparse(histogram: Ints) -> list[list[int]]:
    """Per row bucket, count, bucket, count, … of the buckets that hold something."""
    return [
        [number for bucket in np.flatnonzero(row).tolist() for number in (bucket, int(row[bucket]))]
        for row in histogram
    ]


def quantile(histogram: Ints, q: float, slowest_ms: npt.NDArray[Any]) -> list[float | None]:
    """Per row, the upper edge of the bucket that holds the quantile, at most the slowest one; None for no value.

    Args:
        histogram: counts, a row each for what is told apart, by bucket.
        q: from 0 to 1.
        slowest_ms: the largest latency of each row.
    """
    total = histogram.sum(axis=1)
    reached = np.cumsum(histogram, axis=1) >= np.maximum(1, np.ceil(q * total))[:, None]
    edge = np.minimum(_FIRST_MS * _GROWTH ** (reached.argmax(axis=1) + 1), slowest_ms)
    return [round(float(ms), 3) if count else None for ms, count in zip(edge, total, strict=True)]
