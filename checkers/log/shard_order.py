"""The order of a shard's messages, as readers find them (SEMANTICS 8).

A shard's messages are sent one after the other, so that the later was asked for when the earlier had been acknowledged;
readers must meet them in that order. What counts is where reads showed a message, not the offset that was acknowledged:
that offsets follow real time is ``checkers.log.linearizable``'s. Does not judge messages that were never read or never
acknowledged, and runs whose workload keeps no shards.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from chaos.core.verdict import Example
from chaos.storage.history import NEVER_NS
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    describe_operation,
    examples,
    findings,
    node_name,
    ranges_of,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.history.log import Log

WORKLOAD: Final = "ordered"


def first_places(log: Log) -> Ints:
    """Per vid the lowest offset at which an ok read showed it, NEVER_NS if none did."""
    out = np.full(log.values, NEVER_NS, dtype=np.int64)
    rows = log.row_ok & (log.row_vid >= 0)
    np.minimum.at(out, log.row_vid[rows], log.row_offset[rows])
    return out


def out_of_order(log: Log, writer: Ints) -> tuple[Ints, Ints]:
    """Acknowledged messages found before one that their shard had got acknowledged earlier, and that one (vids)."""
    place = first_places(log)[: len(log.sends)]
    vids = log.acked[place[log.acked] < NEVER_NS]
    sends = log.sends[vids]
    vids = vids[np.lexsort((log.invoke[sends], writer[sends]))]
    shard, at = writer[log.sends[vids]], place[vids]
    # The furthest place so far within each shard: shards take turns, so one running maximum serves them all.
    _, turn = np.unique(shard, return_inverse=True)
    _, rank = np.unique(at, return_inverse=True)
    height = turn.astype(np.int64) * (len(vids) + 1) + rank
    furthest = np.maximum.accumulate(height) if len(height) else height
    first = np.r_[True, furthest[1:] > furthest[:-1]] if len(height) else np.zeros(0, dtype=np.bool_)
    leader = np.maximum.accumulate(np.where(first, np.arange(len(vids)), 0))
    before = np.r_[0, leader[:-1]] if len(vids) else leader
    bad = (shard == shard[before]) & (at < at[before])
    bad &= log.complete[log.sends[vids[before]]] < log.invoke[log.sends[vids]]
    return vids[bad], vids[before[bad]]


class ShardOrderKernel(FindingsCheck):
    """Messages of one shard that readers meet in another order than they were acknowledged in."""

    name = "shard-order"
    help = "readers meet each shard's messages in the order in which they were acknowledged"
    anomalies = kinds_named("order")
    noun = "acknowledged message"
    clean = "each shard's came in their order"

    def applies(self, context: Context) -> str | None:
        """Where messages belong to shards."""
        return None if context.run.workload == WORKLOAD else "messages have no sharding keys"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        if context.run.workload != WORKLOAD:
            return Findings()
        late, early = out_of_order(log, shard.operations["writer"].astype(np.int64))
        place = first_places(log)

        def told_of() -> Iterator[Example]:
            for vid, before in zip(late.tolist(), early.tolist(), strict=True):
                send, earlier, read = int(log.sends[vid]), int(log.sends[before]), log.first_read(vid)
                who = actor_of(shard, context, read)
                yield who.example(
                    f"at {time_of(shard, context, read)} {who.subject} returned {log.value(vid)} at offset "
                    f"{place[vid]} of queue {shard.key}, before {log.value(before)} at offset {place[before]}, which "
                    f"{node_name(context, int(log.node[earlier]))} had acknowledged at "
                    f"{time_of(shard, context, earlier)}, before the shard sent the other",
                    key=shard.key,
                    offset=int(place[vid]),
                    value=log.value(vid),
                    ops=(
                        describe_operation(shard, context, earlier),
                        describe_operation(shard, context, send),
                        describe_operation(shard, context, read, around=int(place[vid])),
                    ),
                )

        return findings(
            len(log.acked),
            order=Finding(count=len(late), examples=examples(told_of()), ranges=ranges_of(shard.key, place[late])),
        )
