"""The check ``semaphore``: never more holders than permits, each grant a permit of its own, given back once.

Only what is certain counts (semantics.md, 57). Each question is decided in n log n.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from chaos.models.coordination.semaphore import MODEL, F
from chaos.models.objects.answers import TOLD
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Findings
from checkers.anomalies.findings_check import OfOneModel
from checkers.coordination.distinct_ids import given_twice
from checkers.coordination.holds import SURE_NS_PER_MS, Pairs, held_until, too_many
from checkers.coordination.violations import Wrong, findings_of, place_of
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints

KINDS: Final = ("permits-exceeded", "permit-given-twice", "permit-released-twice")


class SemaphoreCheck(OfOneModel):
    """Looks at each semaphore."""

    name = "semaphore"
    help = "a semaphore has no more holders than permits, and a permit is given back once"
    anomalies = kinds_named(*KINDS)
    model = MODEL
    noun = "grant"
    clean = "no more holders than permits, and each permit given back once"
    kept = "of permits, never too many at once"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one semaphore."""
        ops, columns = shard.ops, shard.operations
        granted = np.flatnonzero((ops.f == F.ACQUIRE) & (ops.type == Type.OK) & (columns["answer"] == TOLD))
        return findings_of(shard, context, KINDS, wrongs(shard, granted, place_of(shard, context)), len(granted))


def wrongs(shard: QueueShard, granted: Ints, place: str) -> Iterator[Wrong]:
    """What is wrong of one semaphore. ``granted``: the places of its ok grants. ``place``: what it is called."""
    ops, columns = shard.ops, shard.operations
    if not len(granted):
        return
    back = np.flatnonzero((ops.f == F.GIVE_BACK) & (ops.type != Type.NOT_SENT))
    number, permits = columns["permit"], int(columns["permits"][granted].max())
    _, whose = np.unique(np.stack([number, columns["client"]]), axis=1, return_inverse=True)
    whose = whose.reshape(-1)
    lease_ends = ops.invoke[granted] + columns["lease_ms"][granted] * SURE_NS_PER_MS
    ends = held_until(whose[granted], lease_ends, whose[back], ops.invoke[back])
    for *holders, late in too_many(ops.complete[granted], ends, permits):
        others = join_names([str(one) for one in sorted(number[granted[holders]].tolist())])
        said = f"granted permit {number[granted[late]]} of {place} while all {permits} permits were held: {others}"
        yield Wrong("permits-exceeded", said, tuple(granted[[*holders, late]].tolist()))
    twice = given_twice(number[granted])
    for pair in twice:
        early, late = granted[list(pair)].tolist()
        said = f"granted permit {number[late]} of {place}, which was also granted by"
        yield Wrong("permit-given-twice", said, (early, late), "")
    doubtful = np.unique(number[granted[[late for _, late in twice]]])
    ok = back[ops.type[back] == Type.OK]
    ok = ok[~np.isin(number[ok], doubtful)]
    for pair in given_back_again(number[ok], ops.invoke[ok], ops.complete[ok]):
        early, late = ok[list(pair)].tolist()
        said = f"took back permit {number[late]} of {place}, which had already been taken back by"
        yield Wrong("permit-released-twice", said, (early, late), "")


def given_back_again(number: Ints, asked: Ints, answered: Ints) -> Pairs:
    """Of each number that was given back after it had been given back: the first to be answered, the first after it."""
    order = np.lexsort((answered, number))
    names, first = np.unique(number[order], return_index=True)
    if not len(names):
        return []
    before = order[first][np.searchsorted(names, number)]
    late = np.flatnonzero(answered[before] < asked)
    late = late[np.lexsort((asked[late], number[late]))]
    _, once = np.unique(number[late], return_index=True)
    return [(int(before[one]), int(one)) for one in late[once]]
