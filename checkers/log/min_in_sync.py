"""No acknowledgement while fewer replicas were in sync than promised (SEMANTICS 16).

Judged where nothing leaves a doubt. Either observers: the whole operation lies between two hearings of one unchanged
SyncStateSet that is too small; a leader's word about its own set goes before a controller's, because the leader is who
acknowledges. Or proven faults: over the whole operation so many replicas were away that too few could hold the message,
whatever anybody says of a set. Does not judge an acknowledgement beside a change of either.
"""

from collections.abc import Iterator

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.verdict import Example
from checkers.anomalies.attribution import actor_of, fault_name, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    describe_operation,
    examples,
    findings,
    place_words,
    ranges_of,
    seconds_text,
    spread_of,
)
from checkers.anomalies.findings_check import FindingsCheck
from checkers.anomalies.replicas_down import Away, replicas_away
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.history.leadership import HEARD_NS, InSync


def too_few(context: Context, key: int) -> list[InSync]:
    """The stretches over which a key's SyncStateSet was certainly below the promised minimum, by leader and time."""
    timeline, minimum = context.timeline, context.run.promises.min_in_sync
    subject = context.subject_of(key)
    said = [one for one in timeline.in_sync if one.subject == subject]
    of_leaders = [one for one in said if one.node == one.leader]
    terms = [reign for reign in timeline.reigns if reign.kind == "controller"]
    trusted = of_leaders or [
        one
        for one in said
        if not any(reign.epoch > one.epoch and reign.first_ns <= one.last_ns + HEARD_NS for reign in terms)
    ]
    return sorted(
        (one for one in trusted if len(one.members) < minimum), key=lambda one: (one.leader, one.first_ns, one.node)
    )


def _inside(shard: QueueShard, context: Context, stretch: InSync) -> Ints:
    """The ok sends that the leader took and acknowledged strictly inside a stretch, in order of invocation."""
    log = shard.log
    leader = next((i for i, node in enumerate(context.run.nodes) if node.name == stretch.leader), -1)
    acked = log.sends[log.acked]
    first = np.searchsorted(log.invoke[acked], stretch.first_ns, side="right")
    last = np.searchsorted(log.invoke[acked], stretch.last_ns, side="left")
    own: Ints = acked[first:last]
    inside: Ints = own[(log.complete[own] < stretch.last_ns) & (log.node[own] == leader)]
    return inside


def _unheld(shard: QueueShard, context: Context, away: list[Away]) -> Ints:
    """The ok sends over the whole of which too few replicas were there to hold them, in order of invocation."""
    log = shard.log
    acked = log.sends[log.acked]
    gone = {one.position: np.zeros(len(acked), dtype=np.bool_) for one in away}
    for one in away:
        gone[one.position] |= (log.invoke[acked] > one.first_ns) & (log.complete[acked] < one.last_ns)
    missing = np.sum(list(gone.values()), axis=0) if gone else np.zeros(len(acked), dtype=np.int64)
    replicas = len(context.run.replicas_of(shard.key))
    # An answer of somebody who was away is a riddle, not a message that too few hold.
    riddle = np.zeros(len(acked), dtype=np.bool_)
    for position, mask in gone.items():
        riddle |= mask & (log.node[acked] == position)
    bad: Ints = acked[(replicas - missing < context.run.promises.min_in_sync) & ~riddle]
    return bad


def _unheld_example(shard: QueueShard, context: Context, send: int, away: list[Away]) -> Example:
    log = shard.log
    who = actor_of(shard, context, send, leads=True)
    value, offset = log.sent(send), int(log.offset[send])
    mine = [one for one in away if one.first_ns < log.invoke[send] and log.complete[send] < one.last_ns]
    gone = sorted({one.node for one in mine})
    replicas = len(context.run.replicas_of(shard.key))
    from_ns, to_ns = max(one.first_ns for one in mine), min(one.last_ns for one in mine)
    proven = f"(proven, {seconds_text(context, from_ns)} to {seconds_text(context, to_ns)})"
    verbs = join_names(sorted({one.verb for one in mine}))
    # The fault that put them away is told once, with them.
    same = {one.fault.id for one in mine} == {who.fault}
    by = f" by {fault_name(mine[0].fault, whom=False)}" if same else ""
    return who.example(
        f"at {time_of(shard, context, send)} {who.aside if same else who.subject} acknowledged {value} at offset "
        f"{offset} of queue {shard.key} while {join_names(gone)} {'was' if len(gone) == 1 else 'were'} {verbs}{by} "
        f"{proven}, so that at most {replicas - len(gone)} of {replicas} replicas could hold it, where at least "
        f"{context.run.promises.min_in_sync} are promised",
        key=shard.key,
        offset=offset,
        value=value,
        ops=(describe_operation(shard, context, send),),
    )


def _example(shard: QueueShard, context: Context, send: int, stretch: InSync) -> Example:
    log = shard.log
    who = actor_of(shard, context, send, leads=True)
    value, offset = log.sent(send), int(log.place[log.vid_of(send)])
    heard = f"{seconds_text(context, stretch.first_ns)} to {seconds_text(context, stretch.last_ns)}"
    few = f"only {join_names(stretch.members)}" if stretch.members else "nobody"
    return who.example(
        f"at {time_of(shard, context, send)} {who.subject} acknowledged {value} {place_words(offset, shard.key)} "
        f"with {few} in sync (SyncStateSet {stretch.number}, from {heard}), where at least "
        f"{context.run.promises.min_in_sync} are promised",
        key=shard.key,
        offset=offset if offset >= 0 else None,
        value=value,
        ops=(describe_operation(shard, context, send),),
    )


class MinInSyncKernel(FindingsCheck):
    """Acknowledgements below the promised minimum of replicas in sync."""

    name = "min-in-sync"
    help = "nothing is acknowledged while fewer replicas are in sync than promised"
    anomalies = kinds_named("min-in-sync")
    noun = "acknowledged message"

    def applies(self, context: Context) -> str | None:
        """Where a minimum is promised."""
        return None if context.run.promises.min_in_sync > 1 else "no minimum in sync is promised"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        of_send: dict[int, InSync] = {}
        for stretch in too_few(context, shard.key):
            of_send |= {send: stretch for send in _inside(shard, context, stretch).tolist() if send not in of_send}
        own = context.run.replicas_of(shard.key)
        away = [one for one in replicas_away(context) if one.node in own]
        bad = sorted({*of_send, *_unheld(shard, context, away).tolist()})

        def told_of() -> Iterator[Example]:
            for send in bad:
                if send in of_send:
                    yield _example(shard, context, send, of_send[send])
                else:
                    yield _unheld_example(shard, context, send, away)

        return findings(
            len(log.acked),
            min_in_sync=Finding(
                count=len(bad),
                examples=examples(told_of()),
                ranges=ranges_of(shard.key, log.offset[np.array(bad, dtype=np.int64)]),
                spread=spread_of(shard, context, bad),
            ),
        )

    def clean_in(self, context: Context) -> str:
        """It names the minimum."""
        return f"none was seen while the SyncStateSet was below {context.run.promises.min_in_sync}"
