"""One offset, one value (SEMANTICS 5), acknowledged offsets and read ones alike."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from chaos.basics.name_lists import join_names
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
    node_name,
    ranges_of,
    seconds_text,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import distinct
from checkers.history.log import Log

COMMITTED: Final = "a read returns a message only once it is committed, so that it is still there later"
"""What should have happened where a node returned what was not committed."""


class _Holder(NamedTuple):
    """A value at an offset: the operation that shows it, how it does in words, and who answered it.

    ``at``: when that was. ``unconfirmed``: it was sent, never acknowledged, and read.
    """

    op: int
    vid: int
    said: str
    at: str
    who: Actor
    unconfirmed: bool


def _holder(shard: QueueShard, context: Context, vid: int, offset: int) -> _Holder:
    """A value by its acknowledgement at the offset, else by the first read that returned it there."""
    log = shard.log
    send = int(log.sends[vid]) if vid < len(log.sends) else -1
    acked = send >= 0 and bool(log.type[send] == Type.OK)
    if acked and log.offset[send] == offset:
        said = f"{log.value(vid)} (acknowledged at {time_of(shard, context, send)} by"
        return _Holder(
            send,
            vid,
            said,
            time_of(shard, context, send),
            actor_of(shard, context, send, leads=True),
            unconfirmed=False,
        )
    reads = log.row_op[(log.row_vid == vid) & (log.row_offset == offset)]
    op = int(reads[np.argmin(log.complete[reads])])
    unconfirmed = not acked and send >= 0
    said = (
        f"{log.value(vid)} ({'never acknowledged, ' if unconfirmed else ''}read at {time_of(shard, context, op)} from"
    )
    return _Holder(op, vid, said, time_of(shard, context, op), actor_of(shard, context, op), unconfirmed)


def _showed_too_early(shard: QueueShard, context: Context, first: _Holder) -> Actor | None:
    """The node that returned the first value before it was committed, with the reason in its words; None if none did.

    It was cut off, or another node led already in a later epoch.
    """
    who = first.who
    if not first.unconfirmed:
        return None
    cut = cut_off_by(context, who.node, who.at_ns)
    if cut is not None:
        words = f"{who.plain}, {fault_words(context, Blame(cut, hit=True, during=True, at_ns=who.at_ns))}"
        return who._replace(words=words, fault=cut.id)
    newer = newer_leader(context, who.node, who.at_ns, context.subject_of(shard.key))
    if newer is None:
        return None
    since = seconds_text(context, newer.first_ns)
    return who._replace(words=f"{who.words}, although {newer.node} was {reign_words(newer, context)} from {since}")


def _given_twice(shard: QueueShard, holders: Sequence[_Holder], offset: int) -> str:
    """The sentence about an offset that two messages hold; whoever gave it last is told with the fault."""
    given = [f"{one.said} {one.who.plain})" for one in holders[:-1]]
    last = holders[-1]
    return f"offset {offset} of queue {shard.key} was given to {join_names([*given, f'{last.said} {last.who.words})'])}"


def _is_gone(log: Log, vid: int, offset: int) -> bool:
    """Whether the last read of an offset does not return a message there, and none ever showed it elsewhere."""
    reads = log.passing(log.ok_reads, offset)
    if not len(reads) or (log.pairs[1] == vid).sum() != 1:
        return False
    last = int(reads[np.argmax(log.complete[reads])])
    return not (log.row_vid[log.rows_of(last)] == vid).any()


def _end_of_send(shard: QueueShard, context: Context, vid: int) -> str:
    """What became of a send that was never acknowledged."""
    op = int(shard.log.sends[vid])
    to = node_name(context, int(shard.ops.node[op]))
    kind, error = Type(int(shard.ops.type[op])), shard.operations["error"][op]
    if kind is Type.INFO and not error:
        return f"its send to {to} got no answer"
    ended = "was refused" if kind is Type.FAIL else "ended"
    return f"its send to {to} {ended} at {time_of(shard, context, op)} with: {error}"


def _dirty_read(
    shard: QueueShard, context: Context, early: Actor, shown: _Holder, others: Sequence[_Holder], offset: int
) -> str:
    """The sentence about a node that returned a message which was not committed, and about what is there now."""
    value = shard.log.value(shown.vid)
    gone = " and was not there later" if _is_gone(shard.log, shown.vid, offset) else ""
    given = join_names([f"{one.said} {one.who.plain})" for one in others])
    return (
        f"{early.subject} returned {value} to a reader at {shown.at}, at offset {offset} of queue {shard.key}; it was "
        f"never acknowledged ({_end_of_send(shard, context, shown.vid)}){gone}: the offset was given to {given}"
    )


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
                if early is None:
                    told, guilty = _given_twice(shard, holders, offset), holders[-1]
                else:
                    told, guilty = _dirty_read(shard, context, early, holders[0], holders[1:], offset), holders[0]
                shown = [one.op for one in holders[:4]]
                if early is not None:
                    shown.insert(0, int(log.sends[holders[0].vid]))
                yield (early or guilty.who).example(
                    told,
                    key=shard.key,
                    offset=offset,
                    value=log.value(guilty.vid),
                    expected="" if early is None else COMMITTED,
                    ops=tuple(describe_operation(shard, context, op, around=offset) for op in shown),
                )

        return findings(
            len(known),
            inconsistent_offsets=Finding(
                count=len(bad), examples=examples(told_of()), ranges=ranges_of(shard.key, bad)
            ),
        )
