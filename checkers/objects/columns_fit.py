"""Whether the columns of one key show that nothing is wrong with it: a counter, a bank, a set.

What is told of a key that is wrong comes from the models (``bags``, ``bank``, ``full_set``), which look at operations
one by one. Here a proof is enough: whoever cannot give it says no, and the model decides. So no answer depends on this.
"""

from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from checkers.history.check_input import QueueShard
from checkers.history.columns import Column, Ints, Mask
from checkers.history.rows import Lists
from checkers.objects.full_set import NS_PER_MS
from checkers.objects.live_calls import says_something

EXACT: Final = 1 << 62
"""Sums up to here fit into a column."""
CELLS: Final = 1 << 22
"""So many pairs of a read and an element are looked at at a time."""


class Moves(NamedTuple):
    """Amounts in order of a moment: the moments, and the sums until then."""

    moments: Ints
    sums: Ints

    def until(self, moments: Ints, *, including: bool) -> Ints:
        """The sum of what moved before each of these moments, or at it."""
        return self.sums[np.searchsorted(self.moments, moments, side="right" if including else "left")]


def moves(moments: Ints, amounts: Ints) -> Moves:
    """Sums of amounts."""
    order = np.argsort(moments, kind="stable")
    return Moves(moments[order], np.concatenate(([0], np.cumsum(amounts[order], dtype=np.int64))))


def sums_fit(amounts: Ints) -> bool:
    """Whether amounts can be added up in a column, and none is below zero."""
    return not len(amounts) or (int(amounts.min()) >= 0 and float(amounts.sum(dtype=np.float64)) < EXACT)


def counter_fits(shard: QueueShard, read: int) -> bool:
    """Whether each read of a counter lies between what was acknowledged before it and what was tried until it ended."""
    ops, columns = shard.ops, shard.operations
    said, ok = says_something(shard, read), ops.type == Type.OK
    adds, reads = said & (ops.f != read), np.flatnonzero(said & (ops.f == read) & ok)
    amount, complete = columns["amount"], ops.complete
    if not sums_fit(amount[adds]):
        return False
    tried, acked = adds & (ops.type != Type.FAIL), adds & ok
    low = moves(complete[acked], amount[acked]).until(ops.invoke[reads], including=False)
    high = moves(ops.invoke[tried], amount[tried]).until(complete[reads], including=True)
    found = np.where(columns["answer"][reads] == 1, columns["found"][reads], 0)
    return bool(((low <= found) & (found <= high)).all())


class _Adds(NamedTuple):
    """Elements in ascending order: which they are, and of each its add."""

    element: Ints
    invoke: Ints
    complete: Ints
    type: Column

    def places(self, values: Ints) -> Ints | None:
        """Where values are among the elements; None if one is not."""
        if not len(values):
            return np.zeros(0, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.element, values), len(self.element) - 1)
        return at if len(self.element) and bool((self.element[at] == values).all()) else None


def set_fits(shard: QueueShard, read: int) -> bool:
    """Whether elements, each added once, are there from when they were known, and no read shows anything else.

    The rules are those of ``full_set``; what was refused may not be shown either.
    """
    ops, columns = shard.ops, shard.operations
    said = says_something(shard, read)
    adds, reads = np.flatnonzero(said & (ops.f != read)), said & (ops.f == read) & (ops.type == Type.OK)
    own = np.flatnonzero(reads)
    if not len(adds) or not len(own) or int(ops.invoke[0]) < 0:
        return False
    order = adds[np.argsort(columns["element"][adds], kind="stable")]
    element = columns["element"][order]
    if bool((element[1:] == element[:-1]).any()):
        return False
    added = _Adds(element, ops.invoke[order], ops.complete[order], ops.type[order])
    shown = columns.lists("elements").of(own)
    at = added.places(shown.values)
    if at is None or bool((added.type[at] == Type.FAIL).any()):
        return False
    return _all_kept(added, Lists(at, shown.starts), ops.invoke[own], ops.complete[own])


def _all_kept(added: _Adds, shown: Lists, invoke: Ints, complete: Ints) -> bool:
    """Whether no element was lost or missed, shown too early or twice in one read.

    Args:
        added: the elements.
        shown: the places of the elements that each read shows.
        invoke: of the reads, ascending.
        complete: of the reads.
    """
    size, none = len(added.element), np.iinfo(np.int64).max
    known = np.where(added.type == Type.OK, added.complete, none)
    present, absent = (np.full(size, -1, dtype=np.int64) for _ in range(2))
    step = max(1, CELLS // size)
    for first in range(0, len(invoke), step):
        some = slice(first, first + step)
        begun, done, there = invoke[some], complete[some], _table(shown, first, len(invoke[some]), size)
        if there is None or bool((there & (done[:, None] < added.invoke)).any()):
            return False
        missing = ~there & (done[:, None] >= added.invoke)
        known = np.minimum(known, np.where(there, done[:, None], none).min(axis=0))
        present, absent = np.maximum(present, _last(there, begun)), np.maximum(absent, _last(missing, begun))
    stable = absent < present
    late = stable & (absent >= 0) & (absent + 1 - known >= NS_PER_MS)
    lost = ~stable & (known != none) & (absent >= 0) & (known < absent)
    return bool(stable.any()) and not bool((late | lost).any())


def _table(shown: Lists, first: int, rows: int, size: int) -> Mask | None:
    """Of some reads which elements each shows; None if one shows any twice."""
    starts = shown.starts[first : first + rows + 1]
    there = np.zeros((rows, size), dtype=np.bool_)
    there[np.repeat(np.arange(rows), np.diff(starts)), shown.values[starts[0] : starts[-1]]] = True
    return there if int(np.count_nonzero(there)) == starts[-1] - starts[0] else None


def _last(chosen: Mask, begun: Ints) -> Ints:
    """Per column when the last chosen row began; -1 where none is chosen. Rows ascend."""
    return np.where(chosen.any(axis=0), begun[len(begun) - 1 - np.argmax(chosen[::-1], axis=0)], -1)
