"""One offset, one value (SEMANTICS 5), acknowledged offsets and read ones alike."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from chaos.core.name_lists import join_names
from chaos.core.op import Type
from chaos.core.verdict import Example
from checkers.anomalies.attribution import (
    Actor,
    Blame,
    actor_of,
    cut_off_by,
    fault_words,
    newer_leader,
    reign_words,
    time_of,
)
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    describe_operation,
    examples,
    findings,
    ranges_of,
    seconds_text,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import distinct


class _Holder(NamedTuple):
    """A value at an offset: the operation that shows it, how it does in words, and who answered it.

    ``unconfirmed``: it was sent, never acknowledged, and read.
    """

    op: int
    vid: int
    said: str
    who: Actor
    unconfirmed: bool


def _holder(shard: QueueShard, context: Context, vid: int, offset: int) -> _Holder:
    """A value by its acknowledgement at the offset, else by the first read that returned it there."""
    log = shard.log
    send = int(log.sends[vid]) if vid < len(log.sends) else -1
    acked = send >= 0 and bool(log.type[send] == Type.OK)
    if acked and log.offset[send] == offset:
        said = f"{log.value(vid)} (acknowledged at {time_of(shard, context, send)} by"
        return _Holder(send, vid, said, actor_of(shard, context, send, leads=True), unconfirmed=False)
    reads = log.row_op[(log.row_vid == vid) & (log.row_offset == offset)]
    op = int(reads[np.argmin(log.complete[reads])])
    unconfirmed = not acked and send >= 0
    said = (
        f"{log.value(vid)} ({'never acknowledged, ' if unconfirmed else ''}read at {time_of(shard, context, op)} from"
    )
    return _Holder(op, vid, said, actor_of(shard, context, op), unconfirmed)


def _showed_too_early(shard: QueueShard, context: Context, first: _Holder) -> Actor | None:
    """The node that returned the first value before it was committed, with the reason in its words; None if none did.

    It was cut off, or another node led already in a later epoch.
    """
    who = first.who
    if not first.unconfirmed:
        return None
    cut = cut_off_by(context, who.node, who.at_ns)
    if cut is not None:
        words = f"{who.plain}, {fault_words(context, Blame(cut, hit=True, during=True))}"
        return who._replace(words=words, fault=cut.id)
    newer = newer_leader(context, who.node, who.at_ns, context.subject_of(shard.key))
    if newer is None:
        return None
    since = seconds_text(context, newer.first_ns)
    return who._replace(words=f"{who.words}, although {newer.node} was {reign_words(newer, context)} from {since}")


class OffsetsKernel(FindingsCheck):
    """Offsets that hold several values."""

    name = "offsets"
    help = "no offset holds two values"
    anomalies = kinds_named("inconsistent-offsets")
    noun = "offset"
    clean = "each holds one value"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        offsets, vids = log.pairs
        known = log.known_offsets
        bad = distinct(offsets[1:][offsets[1:] == offsets[:-1]])

        def told_of() -> Iterator[Example]:
            for offset in map(int, bad):
                holders = [_holder(shard, context, int(vid), offset) for vid in vids[offsets == offset]]
                holders.sort(key=lambda one: int(log.complete[one.op]))
                early = _showed_too_early(shard, context, holders[0])
                guilty = holders[-1] if early is None else holders[0]._replace(who=early)
                given = [
                    f"{guilty.said} {guilty.who.words})" if one.vid == guilty.vid else f"{one.said} {one.who.plain})"
                    for one in holders
                ]
                yield guilty.who.example(
                    f"offset {offset} of queue {shard.key} was given to {join_names(given)}",
                    key=shard.key,
                    offset=offset,
                    value=log.value(guilty.vid),
                    ops=tuple(describe_operation(shard, context, one.op, around=offset) for one in holders[:4]),
                )

        return findings(
            len(known),
            inconsistent_offsets=Finding(
                count=len(bad), examples=examples(told_of()), ranges=ranges_of(shard.key, bad)
            ),
        )
