"""What a history of leases says for certain: of each lease when it was kept alive, seen and ended.

Times are ns. A lease is known by its number; looks are known by their place among all ok looks, in order of invocation.
"""

from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from chaos.models.coordination.lease import F
from chaos.models.objects.answers import TOLD
from checkers.history.check_input import QueueShard
from checkers.history.columns import Ints

NS_PER_MS: Final = 1_000_000
SURE_NS_PER_MS: Final = NS_PER_MS * 99 // 100
"""So much of a millisecond of a lease is sure: the service's clock may run a little faster than ours."""
MOST_NS_PER_MS: Final = NS_PER_MS * 101 // 100
"""So much a millisecond of a lease may take by our clock, where the service's runs slower."""


class Looks(NamedTuple):
    """All ok looks: which operations, and from when to when. ``seen``: lease → the places of those that saw it."""

    op: Ints
    invoke: Ints
    complete: Ints
    seen: dict[int, Ints]


class Lease(NamedTuple):
    """What clients asked for one lease and were told.

    ``known_ns``: when it had surely been there, None if nobody knows. ``kept_op``, ``kept_f``, ``kept_invoke``,
    ``kept_until``: each acknowledged grant and renewal in order of invocation, and how long it keeps the lease alive
    for certain.
    ``maybe_revoked_ns``: when it may have been ended first; ``revoked_op``: the revoke that had surely ended it first,
    -1 for none. ``settled_ns``: when the last request that may have lengthened it was answered; ``in_doubt_ns``: when
    the last such request was sent that was not answered; None without one. ``ttl_ms``: the longest that it was ever
    granted for. ``asked``: somebody tried to take it and was not refused for certain.
    """

    number: int
    known_ns: int | None
    kept_op: Ints
    kept_f: Ints
    kept_invoke: Ints
    kept_until: Ints
    maybe_revoked_ns: int | None
    revoked_op: int
    settled_ns: int | None
    in_doubt_ns: int | None
    ttl_ms: int
    asked: bool


class Sights(NamedTuple):
    """All ok looks, and which lease was seen by which: ``number`` and ``place`` ascend by lease, then by look."""

    op: Ints
    invoke: Ints
    complete: Ints
    number: Ints
    place: Ints

    def looks(self, numbers: Ints) -> Looks:
        """The looks, and who saw one of these leases."""
        begin, end = (np.searchsorted(self.number, numbers, side=side) for side in ("left", "right"))
        places = (self.place[one:other] for one, other in zip(begin.tolist(), end.tolist(), strict=True))
        seen = {number: own for number, own in zip(numbers.tolist(), places, strict=True) if len(own)}
        return Looks(self.op, self.invoke, self.complete, seen)


def sights_of(shard: QueueShard) -> Sights:
    """All ok looks at a place."""
    ops, columns = shard.ops, shard.operations
    of = np.flatnonzero((ops.f == F.READ) & (ops.type == Type.OK) & (columns["answer"] == TOLD))
    of = of[np.argsort(ops.invoke[of], kind="stable")]
    lists = columns.lists("leases").of(of)
    order = np.argsort(lists.values, kind="stable")
    place = np.repeat(np.arange(len(of)), lists.sizes)[order]
    return Sights(of, ops.invoke[of], ops.complete[of], lists.values[order], place)


def leases_of(shard: QueueShard, looks: Looks, numbers: Ints) -> list[Lease]:
    """These leases of a place, whose numbers ascend."""
    number = shard.operations["lease"]
    steps = np.flatnonzero((shard.ops.f != F.READ) & (shard.ops.type != Type.NOT_SENT))
    order = steps[np.argsort(number[steps], kind="stable")]
    begin, end = (np.searchsorted(number[order], numbers, side=side) for side in ("left", "right"))
    pieces = zip(numbers.tolist(), begin.tolist(), end.tolist(), strict=True)
    return [_lease(shard, looks, one, order[first:last]) for one, first, last in pieces]


def _lease(shard: QueueShard, looks: Looks, number: int, steps: Ints) -> Lease:
    ops, columns = shard.ops, shard.operations
    f, kind, invoke, complete = ops.f[steps], ops.type[steps], ops.invoke[steps], ops.complete[steps]
    longer, ok = f != F.REVOKE, kind == Type.OK
    kept = np.flatnonzero(longer & ok & (columns["answer"][steps] == TOLD))
    kept = kept[np.argsort(invoke[kept], kind="stable")]
    told_ms = columns["told_ms"][steps]
    seen = looks.seen.get(number, np.zeros(0, np.int64))
    known = [*complete[(f == F.GRANT) & ok].tolist(), *looks.complete[seen].tolist()]
    revoked = np.flatnonzero((f == F.REVOKE) & ok)
    settled, doubtful = complete[longer & (kind != Type.INFO)], invoke[longer & (kind == Type.INFO)]
    return Lease(
        number=number,
        known_ns=min(known, default=None),
        kept_op=steps[kept],
        kept_f=f[kept].astype(np.int64),
        kept_invoke=invoke[kept],
        kept_until=invoke[kept] + told_ms[kept] * SURE_NS_PER_MS,
        maybe_revoked_ns=min(invoke[(f == F.REVOKE) & (kind != Type.FAIL)].tolist(), default=None),
        revoked_op=int(steps[revoked[np.argmin(complete[revoked])]]) if len(revoked) else -1,
        settled_ns=max(settled.tolist(), default=None),
        in_doubt_ns=max(doubtful.tolist(), default=None),
        ttl_ms=max([*told_ms.tolist(), *columns["ttl_ms"][steps].tolist()], default=0),
        asked=bool(((f == F.GRANT) & (kind != Type.FAIL)).any()),
    )
