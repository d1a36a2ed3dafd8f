"""Lost messages of one queue brought together: by the node that acknowledged them, and the stretch of time.

The module refuses to find losses.
"""

from typing import Final

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from checkers.anomalies.findings import node_name
from checkers.history.columns import Ints, spans
from checkers.history.kernel import Context, QueueShard
from checkers.history.log import Log

CLUSTERS: Final = 16
APART_NS: Final = 3 * NS_PER_S
"""Lost acknowledgements further apart are told apart: they were given in other epochs, or under other faults."""


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The lost messages of one queue that one node had acknowledged in one stretch of time.

    ``twice``: how many of their offsets hold other messages, ``twice_node``: who gave them again, ``twice_ns``: when it
    did so first.
    """

    key: int
    node: str
    count: int
    first_ack_ns: int
    last_ack_ns: int
    first_value: str
    first_offset: int
    twice: int
    twice_first: int
    twice_last: int
    twice_node: str
    twice_ns: int


def others_at(log: Log, vids: Ints) -> tuple[Ints, Ints]:
    """Which of these messages' offsets hold another value: their positions in ``vids``, and that value."""
    offsets, known = log.pairs
    at = log.place[vids]
    first, behind = np.searchsorted(offsets, at), np.searchsorted(offsets, at, side="right")
    other = np.full(len(vids), -1, dtype=np.int64)
    for step in range(int((behind - first).max(initial=0))):
        place = np.minimum(first + step, max(0, len(known) - 1))
        hit = (first + step < behind) & (known[place] != vids)
        other[hit] = known[place][hit]
    twice = np.flatnonzero(other >= 0)
    return twice, other[twice]


def _cluster(shard: QueueShard, context: Context, node: int, vids: Ints) -> Cluster:
    log = shard.log
    ops, place = log.sends[vids], log.place[vids]
    first = int(np.argmin(place))
    acked_ns = log.complete[ops]
    twice, other = others_at(log, vids)
    again = place[twice]
    by_send = log.sends[other[other < len(log.sends)]]
    acks = by_send[log.type[by_send] == Type.OK]
    givers = log.node[acks]
    giver = int(np.bincount(givers[givers >= 0]).argmax()) if (givers >= 0).any() else -1
    return Cluster(
        key=shard.key,
        node=node_name(context, node),
        count=len(vids),
        first_ack_ns=int(acked_ns.min()),
        last_ack_ns=int(acked_ns.max()),
        first_value=log.value(int(vids[first])),
        first_offset=int(place[first]),
        twice=len(twice),
        twice_first=int(again.min(initial=1 << 62)),
        twice_last=int(again.max(initial=-1)),
        twice_node=node_name(context, giver) if giver >= 0 else "",
        twice_ns=int(log.complete[acks[givers == giver]].min()) if giver >= 0 else 0,
    )


def clusters_of(shard: QueueShard, context: Context, lost: Ints) -> tuple[Cluster, ...]:
    """The lost messages of one queue by who had acknowledged them and when, the most first."""
    log = shard.log
    nodes, acked_ns = log.node[log.sends[lost]], log.complete[log.sends[lost]]
    made = []
    for node in np.unique(nodes):
        own, own_ns = lost[nodes == node], acked_ns[nodes == node]
        for first, last in spans(own_ns, gap=APART_NS, limit=CLUSTERS):
            made.append(_cluster(shard, context, int(node), own[(own_ns >= first) & (own_ns <= last)]))
    return tuple(sorted(made, key=lambda one: (-one.count, one.first_ack_ns))[:CLUSTERS])
