"""Lost messages of one queue brought together: by the node that acknowledged them, whether it was cut off, and when.

Does not find losses.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import Example
from checkers.anomalies.attribution import cuts_off
from checkers.anomalies.findings import node_name
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, spans
from checkers.history.log import Log

CLUSTERS: Final = 16
APART_NS: Final = 3 * NS_PER_S
"""Lost acknowledgements further apart are told apart: they were given in other epochs, or under other faults."""

Tell = Callable[[int], Example]


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """The lost messages of one queue that one node had acknowledged in one stretch of time.

    ``cut``: the number of the fault that cut the node off all that time, 0 if none did. What follows ``last_ack_ns`` is
    of the message with the lowest offset: ``acked_ns`` when it was acknowledged, ``example`` what shows its loss,
    ``without_ns`` when the first read behind the acknowledgement that passes over it ended, ``without_node`` who
    answered that, ``shown_ns`` when each node last answered a read with it, ``again`` the message that sits at its
    offset, ``again_node`` who acknowledged that one there, and ``again_ns`` when. Texts are empty where there is
    nothing.
    """

    key: int
    node: str
    count: int
    cut: int
    first_ack_ns: int
    last_ack_ns: int
    value: str
    offset: int
    acked_ns: int
    example: Example
    without_ns: int
    without_node: str
    shown_ns: Mapping[str, int]
    again: str
    again_node: str
    again_ns: int


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


def _passed_over(log: Log, vid: int, shown: Ints) -> int:
    """The first read that passes over a message after it was acknowledged, and read for the last time; -1 for none.

    ``shown``: the reads that returned it.
    """
    reads = log.passing(log.ok_reads, int(log.place[vid]))
    behind_ns = max(int(log.complete[log.sends[vid]]), int(log.complete[shown].max(initial=0)))
    later = reads[log.complete[reads] > behind_ns]
    return int(later[np.argmin(log.complete[later])]) if len(later) else -1


def _shown_ns(log: Log, context: Context, shown: Ints) -> dict[str, int]:
    """When each node last answered one of these reads; nodes that answered none are left out."""
    known = shown[log.node[shown] >= 0]
    ordered = known[np.argsort(log.complete[known], kind="stable")]
    return {node_name(context, int(log.node[read])): int(log.complete[read]) for read in ordered}


def _cluster(shard: QueueShard, context: Context, node: int, vids: Ints, *, cut: int, tell: Tell) -> Cluster:
    log = shard.log
    acked_ns = log.complete[log.sends[vids]]
    vid = int(vids[np.argmin(log.place[vids])])
    _, other = others_at(log, np.array([vid]))
    again = int(other[0]) if len(other) else -1
    send = int(log.sends[again]) if 0 <= again < len(log.sends) else -1
    given = send if send >= 0 and log.type[send] == Type.OK and log.node[send] >= 0 else -1
    shown = log.row_op[log.row_ok & (log.row_vid == vid)]
    without = _passed_over(log, vid, shown)
    return Cluster(
        key=shard.key,
        node=node_name(context, node),
        count=len(vids),
        cut=cut,
        first_ack_ns=int(acked_ns.min()),
        last_ack_ns=int(acked_ns.max()),
        value=log.value(vid),
        offset=int(log.place[vid]),
        acked_ns=int(log.complete[log.sends[vid]]),
        example=tell(vid),
        without_ns=int(log.complete[without]) if without >= 0 else 0,
        without_node=node_name(context, int(log.node[without])) if without >= 0 else "",
        shown_ns=_shown_ns(log, context, shown),
        again=log.value(again) if again >= 0 else "",
        again_node=node_name(context, int(log.node[given])) if given >= 0 else "",
        again_ns=int(log.complete[given]) if given >= 0 else 0,
    )


def _cut_off(context: Context, node: int, acked_ns: Ints) -> Ints:
    """The number of the fault that cut a node off when it acknowledged, 0 for none; of several, the last begun."""
    out = np.zeros(len(acked_ns), dtype=np.int64)
    for fault in cuts_off(context, node_name(context, node)):
        out[(acked_ns > (fault.inject_ns or 0)) & (acked_ns <= fault.in_force_until_ns())] = fault.id
    return out


def clusters_of(shard: QueueShard, context: Context, lost: Ints, tell: Tell) -> tuple[Cluster, ...]:
    """The lost messages of one queue by who had acknowledged them, cut off by what, and when; the most first.

    Args:
        shard: the queue.
        context: for nodes and faults.
        lost: vids.
        tell: makes an example of a vid.
    """
    log = shard.log
    nodes, acked_ns = log.node[log.sends[lost]], log.complete[log.sends[lost]]
    made = []
    for node in np.unique(nodes):
        own = np.flatnonzero(nodes == node)
        cuts = _cut_off(context, int(node), acked_ns[own])
        for cut in np.unique(cuts):
            alike = own[cuts == cut]
            alike_ns = acked_ns[alike]
            for first, last in spans(alike_ns, gap=APART_NS, limit=CLUSTERS):
                here = alike[(alike_ns >= first) & (alike_ns <= last)]
                made.append(_cluster(shard, context, int(node), lost[here], cut=int(cut), tell=tell))
    return tuple(sorted(made, key=lambda one: (-one.count, one.first_ack_ns))[:CLUSTERS])
