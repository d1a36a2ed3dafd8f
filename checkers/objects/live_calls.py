"""From the columns of one key of a live run to the operations as the models of ``checkers.objects`` see them.

Does not judge. A history has millions of operations, so nothing is asked of a column row by row.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from chaos.models.objects.answers import TOLD, UNTOLD
from checkers.history.check_input import QueueShard
from checkers.history.columns import Ints, Mask
from checkers.history.rows import Columns
from checkers.objects.calls import Call, Calls


class Facts(NamedTuple):
    """How a model's columns are read.

    ``read``: the word of the reads, which have no argument. ``arguments``: of these rows. ``outputs``: what each would
    have returned if it was an ok read.
    """

    read: int
    arguments: Callable[[Columns, Ints], list[Any]]
    outputs: Callable[[Columns, Ints], list[Any]]


def numbers_found(columns: Columns, rows: Ints, nothing: int | None) -> list[int | None]:
    """What reads of a number found; ``nothing``: where they were told that nothing is there."""
    told = columns["answer"][rows] == TOLD
    return [
        one if there else nothing for one, there in zip(columns["found"][rows].tolist(), told.tolist(), strict=True)
    ]


def says_something(shard: QueueShard, read: int) -> Mask:
    """Which operations a model looks at: all but those that never left and ok reads that were told nothing."""
    kind = shard.ops.type
    untold = (shard.ops.f == read) & (kind == Type.OK) & (shard.operations["answer"] == UNTOLD)
    said: Mask = (kind != Type.NOT_SENT) & ~untold
    return said


def judged_of(shard: QueueShard, read: int) -> int:
    """How many operations a model looks at."""
    return int(np.count_nonzero(says_something(shard, read)))


def end_of_rows(shard: QueueShard) -> Ints:
    """When each operation was over; ``NEVER`` if nobody knows."""
    return np.where(shard.ops.type == Type.INFO, NEVER, shard.ops.complete)


def calls_of(shard: QueueShard, words: Mapping[str, int], facts: Facts) -> Calls:
    """The operations of one key.

    A call's number is its row. An ok read that was told nothing says nothing, so it is left out, and so is what never
    left.

    Args:
        shard: its rows.
        words: word → number, as ``run.json`` has it.
        facts: how arguments and outputs are read.
    """
    columns, ops = shard.operations, shard.ops
    rows = np.flatnonzero(says_something(shard, facts.read))
    word, kind = {number: word for word, number in words.items()}, {int(one): one for one in Type}
    reads = ops.f[rows] == facts.read
    asked, told = np.flatnonzero(~reads), np.flatnonzero(reads & (ops.type[rows] == Type.OK))
    invoke, complete = ops.invoke[rows].tolist(), ops.complete[rows].tolist()
    return Calls(
        map(
            Call,
            rows.tolist(),
            columns["process"][rows].tolist(),
            map(word.__getitem__, ops.f[rows].tolist()),
            _spread(facts.arguments(columns, rows[asked]), asked, len(rows)),
            _spread(facts.outputs(columns, rows[told]), told, len(rows)),
            map(kind.__getitem__, ops.type[rows].tolist()),
            invoke,
            end_of_rows(shard)[rows].tolist(),
            invoke,
            complete,
        )
    )


def _spread(values: list[Any], places: Ints, size: int) -> list[Any]:
    """Values at their places among others that have none."""
    out: list[Any] = [None] * size
    for place, value in zip(places.tolist(), values, strict=True):
        out[place] = value
    return out
