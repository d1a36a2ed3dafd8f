"""Operations that the report draws one by one: an even sample by a hash of their identity, the same in every engine."""

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.series import Points
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Column, Ints, is_among
from checkers.recovery.errors_by_node import number_errors

WHOLE: Final = 200_000
"""Up to so many operations all are kept."""
MOST: Final = 12_000
"""Of more operations so many that were ok, or were refused by design."""
MOST_NOT_OK: Final = 100_000
"""Of more operations so many that were not ok."""
ERROR: Final = 8
"""The column with the number of the error."""
COLUMNS: Final = ERROR + 1

Floats = npt.NDArray[np.float64]


class Sample(msgspec.Struct, frozen=True):
    """Some operations with the lowest hashes. ``columns``: as in ``Points``, a row each; ``errors``: their texts."""

    hashes: npt.NDArray[np.uint64]
    columns: Floats
    errors: tuple[str, ...]


def hashes_of(worker: Ints, op: Ints) -> npt.NDArray[np.uint64]:
    """A well mixed number per operation (the finaliser of splitmix64)."""
    x = (worker.astype(np.uint64) << np.uint64(40)) + op.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def sample_of(shard: QueueShard, context: Context, ops: Ints, kinds: Ints, latency_ms: Floats, limit: int) -> Sample:
    """Some operations of a key, at most ``limit``. ``kinds`` and ``latency_ms``: of all its operations."""
    log, own = shard.ops, shard.operations
    hashes = hashes_of(own["worker"][ops], own["op"][ops])
    if len(ops) > limit:
        keep = _lowest(hashes, limit)
        ops, hashes = ops[keep], hashes[keep]
    failed = np.flatnonzero(~is_among(kinds[ops], (Type.OK, Type.NOT_SENT)))
    texts, numbers = number_errors(shard, ops[failed])
    columns = np.zeros((COLUMNS, len(ops)))
    told: tuple[Column | int, ...] = (
        (own["scheduled_ns"][ops] - context.timeline.origin_ns) / NS_PER_S,
        latency_ms[ops],
        log.f[ops],
        kinds[ops],
        own["client"][ops],
        log.node[ops],
        shard.key,
        own["process"][ops],
    )
    for column, values in enumerate(told):
        columns[column] = values
    columns[ERROR, failed] = numbers + 1
    return Sample(hashes, columns.T, tuple(texts))


def _lowest(hashes: npt.NDArray[np.uint64], limit: int) -> Ints:
    """Where the ``limit`` lowest of more hashes are, in any order.

    They are even numbers of 64 bits, so the lowest of many are among those below a bound that keeps a few more.
    """
    near = np.flatnonzero(hashes < np.uint64(min(1.5 * limit / len(hashes), 0.99) * 2.0**64))
    if len(near) <= limit:  # of a few, or by chance
        return np.argpartition(hashes, limit)[:limit]
    return near[np.argpartition(hashes[near], limit)[:limit]]


def join_samples(left: Sample, right: Sample, limit: int) -> Sample:
    """Two samples as one of at most ``limit`` operations."""
    errors = tuple(dict.fromkeys((*left.errors, *right.errors)))
    place = {text: number for number, text in enumerate(errors, 1)}
    hashes, size = np.concatenate((left.hashes, right.hashes)), len(left.hashes)
    if len(hashes) <= limit:
        return Sample(hashes, np.concatenate((left.columns, _renumbered(right, right.columns, place))), errors)
    keep = np.argpartition(hashes, limit)[:limit]
    own, other = keep[keep < size], keep[keep >= size]
    columns = (left.columns[own], _renumbered(right, right.columns[other - size], place))
    return Sample(hashes[np.concatenate((own, other))], np.concatenate(columns), errors)


def _renumbered(sample: Sample, columns: Floats, place: dict[str, int]) -> Floats:
    """Some of a sample's operations, with the numbers of errors in another order."""
    numbers = np.array([0, *(place[text] for text in sample.errors)], dtype=np.float64)
    if np.array_equal(numbers, np.arange(len(numbers))):
        return columns
    columns = columns.copy()
    columns[:, ERROR] = numbers[columns[:, ERROR].astype(np.int64)]
    return columns


def points_of(*samples: Sample) -> Points:
    """The operations in order of time, as they are stored; errors that none of them has are left out."""
    whole = samples[0]
    for other in samples[1:]:
        whole = join_samples(whole, other, len(whole.hashes) + len(other.hashes))
    met = sorted({int(number) for number in whole.columns[:, ERROR]} - {0}, key=lambda number: whole.errors[number - 1])
    errors = tuple(whole.errors[number - 1] for number in met)
    place = {text: errors.index(text) + 1 if text in errors else 0 for text in whole.errors}
    rows = _renumbered(whole, whole.columns, place)
    rows = rows[np.lexsort(rows.T[::-1])]

    def integers(column: int) -> list[int]:
        out: list[int] = rows[:, column].astype(np.int64).tolist()
        return out

    return Points(
        t_s=np.round(rows[:, 0], 4).tolist(),
        latency_ms=np.round(rows[:, 1], 3).tolist(),
        f=integers(2),
        type=integers(3),
        client=integers(4),
        node=integers(5),
        key=integers(6),
        process=integers(7),
        error=integers(ERROR),
        errors=list(errors),
    )
