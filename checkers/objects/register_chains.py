"""Registers in which every value is made once, by a write or a compare-and-set, decided by sorting.

A compare-and-set stands right behind the value that it expects, so values form chains: a write, its reads, a
compare-and-set, the reads of what it wrote, and so on. In any order the operations of a chain stand together. Within a
chain their order is known but for reads of one value; of two chains one goes first, and is that one of which an
operation had completed before one of the other began. Two chains that must both go first are all that can be wrong
between them. Source: Gibbons and Korach, Testing shared memories (1997), section 4, whose clusters are chains of one
value; a chain takes the part of a cluster in their proof, which asks only that a cluster stands together.

Does not decide histories in which a value is made twice, or in which somebody saw that a value was not there.
"""

from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.formats.operations import NEVER
from chaos.models.objects.answers import TOLD
from chaos.models.objects.register import F
from checkers.history.check_input import QueueShard
from checkers.history.columns import Column, Ints, Mask
from checkers.objects.live_calls import end_of_rows, says_something
from checkers.objects.specs import BLIND_CAS, CAS, NOT_CAS, READ, WRITE

BEFORE_ALL: Final = -NEVER
"""When the first state was written."""
ROUNDS: Final = 64
"""So often it is asked whether one more change of unknown outcome is needed."""


class Zones(NamedTuple):
    """Per value, or chain of values: the first completion and the last invocation among its operations."""

    first_done: Ints
    last_begun: Ints


def conflicts(zones: Zones, most: int) -> list[tuple[int, int]]:
    """Pairs of zones of which each must go before the other; at least one pair if there are any, ``most`` at most."""
    forward = np.flatnonzero(zones.first_done < zones.last_begun)
    order = forward[np.argsort(zones.first_done[forward], kind="stable")]
    out: list[tuple[int, int]] = []
    if len(order) > 1:
        furthest = np.maximum.accumulate(zones.last_begun[order])
        for i in np.flatnonzero(zones.first_done[order][1:] < furthest[:-1])[:most]:
            before = int(np.argmax(zones.last_begun[order][: i + 1]))
            out.append((int(order[before]), int(order[i + 1])))
    if out or not len(order):
        return out
    backward = np.flatnonzero(zones.first_done >= zones.last_begun)
    at = np.searchsorted(zones.first_done[order], zones.last_begun[backward]) - 1
    inside = (at >= 0) & (zones.first_done[backward] < zones.last_begun[order][np.maximum(at, 0)])
    return [(int(order[at[i]]), int(backward[i])) for i in np.flatnonzero(inside)[:most]]


class Steps(NamedTuple):
    """What operations say of a register, as columns: kinds of ``specs``, and values as numbers from 0 on.

    ``value`` is what is written, read or expected, ``new`` what a compare-and-set writes. Number 0 is what the register
    held at first. A change is complete at ``NEVER`` where nobody knows whether it took effect.
    """

    kind: Column
    value: Ints
    new: Ints
    invoke: Ints
    complete: Ints

    def only(self, chosen: Mask | Ints) -> "Steps":
        """Some of them."""
        return Steps(*(column[chosen] for column in self))

    def until(self, moment: int) -> "Steps":
        """What was known at a moment: later invocations are gone, and what was not complete is still open."""
        done = self.complete <= moment
        chosen = (self.invoke <= moment) & (done | (self.kind != READ))
        return self._replace(complete=np.where(done, self.complete, NEVER)).only(chosen)

    @property
    def made(self) -> Ints:
        """The value behind each change."""
        return np.where(self.kind == WRITE, self.value, self.new)


def has_order(steps: Steps) -> bool | None:
    """Whether the operations are linearizable; None if that is not decided here."""
    reads = steps.kind == READ
    if bool((steps.kind == NOT_CAS).any()) or bool((reads & (steps.complete == NEVER)).any()):
        return None
    needed = _needed(steps)
    if needed is None:
        return None
    own = steps.only(needed)
    values = 1 + max(int(own.value.max(initial=0)), int(own.new.max(initial=0)))
    changes, compares = own.kind != READ, (own.kind == CAS) | (own.kind == BLIND_CAS)
    made = np.bincount(own.made[changes], minlength=values)
    if made[0] or bool((made > 1).any()):
        return None
    made[0] = 1
    if not bool(made[own.value].all()) or bool((np.bincount(own.value[compares]) > 1).any()):
        return False  # a value that nobody made, or two that each replaced the same one
    if bool((own.value == own.new)[compares].any()):
        return False  # nobody else made it
    parent = np.arange(values)
    parent[own.new[compares]] = own.value[compares]
    chains = _chains(parent)
    return chains is not None and _fit(own, *chains)


def _needed(steps: Steps) -> Mask | None:
    """All steps but the changes of unknown outcome whose value nobody met; None if that takes too long to find out.

    An order with such a change is one without it: its value is replaced before anybody sees it.
    """
    open_ = steps.complete == NEVER
    compares = (steps.kind == CAS) | (steps.kind == BLIND_CAS)
    if not bool(open_.any()):
        return np.ones(len(open_), dtype=np.bool_)
    met = np.zeros(1 + max(int(steps.value.max(initial=0)), int(steps.new.max(initial=0))), dtype=np.bool_)
    needed: Mask = ~open_
    met[steps.value[needed & (steps.kind != WRITE)]] = True
    made, left = steps.made, np.flatnonzero(open_)
    for _ in range(ROUNDS):
        taken = met[made[left]]
        if not bool(taken.any()):
            return needed
        needed[left[taken]] = True
        met[steps.value[left[taken & compares[left]]]] = True
        left = left[~taken]
    return None


def _chains(parent: Ints) -> tuple[Ints, Ints] | None:
    """Of each value the first of its chain, and how many are before it; None if a chain goes round."""
    root, depth = parent.copy(), (parent != np.arange(len(parent))).astype(np.int64)
    for _ in range(len(parent).bit_length() + 1):
        above = root[root]
        if bool((above == root).all()):
            return (root, depth) if bool((parent[root] == root).all()) else None
        depth, root = depth + depth[root], above
    return None


def _fit(steps: Steps, root: Ints, depth: Ints) -> bool:
    """Whether each chain has an order, and all of them one among each other."""
    value = np.where(steps.kind == READ, steps.value, steps.made)
    chain, level = root[value], 2 * depth[value] + (steps.kind == READ)
    order = np.lexsort((level, chain))
    chain, level, invoke, complete = chain[order], level[order], steps.invoke[order], steps.complete[order]
    if not len(order):
        return True
    fresh = np.flatnonzero(np.concatenate(([True], (chain[1:] != chain[:-1]) | (level[1:] != level[:-1]))))
    begun, done, of = np.maximum.reduceat(invoke, fresh), np.minimum.reduceat(complete, fresh), chain[fresh]
    moments = np.sort(begun)
    rank = of * len(moments) + np.searchsorted(moments, begun)
    before = np.maximum.accumulate(rank)[:-1]  # the latest invocation of the chain so far, or of one further ahead
    same = of[1:] == of[:-1]
    if bool((same & (done[1:] < moments[before % len(moments)])).any()):
        return False
    starts = np.flatnonzero(np.concatenate(([True], ~same)))
    first_done, last_begun = np.minimum.reduceat(done, starts), np.maximum.reduceat(begun, starts)
    if of[0] == 0:
        first_done[0] = BEFORE_ALL
    else:
        first_done, last_begun = np.append(first_done, BEFORE_ALL), np.append(last_begun, BEFORE_ALL)
    return not conflicts(Zones(first_done, last_begun), 1)


def register_fits(shard: QueueShard) -> bool:
    """Whether the columns of a register show that its operations are linearizable."""
    return has_order(steps_of(shard)) is True


_KINDS: Final = {(F.WRITE, Type.OK): WRITE, (F.WRITE, Type.INFO): WRITE, (F.READ, Type.OK): READ}
_COMPARED: Final = {(F.CAS, Type.OK): CAS, (F.CAS, Type.INFO): BLIND_CAS}


def steps_of(shard: QueueShard) -> Steps:
    """What the operations of a live register say. What failed says nothing, and nothing there is an answer."""
    ops, columns = shard.ops, shard.operations
    kind = np.full(len(ops.f), -1, dtype=np.int8)
    for (f, outcome), one in {**_KINDS, **_COMPARED}.items():
        kind[(ops.f == f) & (ops.type == outcome)] = one
    rows = np.flatnonzero((kind >= 0) & says_something(shard, F.READ))
    kind = kind[rows]
    read, compared = kind == READ, (kind == CAS) | (kind == BLIND_CAS)
    written = columns["value"][rows]
    value = np.where(read, columns["found"][rows], np.where(compared, columns["expected"][rows], written))
    nothing = read & (columns["answer"][rows] != TOLD)
    names = np.unique(np.concatenate((value[~nothing], written[compared])))
    number, new = np.searchsorted(names, value) + 1, np.zeros(len(rows), dtype=np.int64)
    number[nothing] = 0
    new[compared] = np.searchsorted(names, written[compared]) + 1
    return Steps(kind, number, new, ops.invoke[rows], end_of_rows(shard)[rows])
