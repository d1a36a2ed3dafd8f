"""No loss: every acknowledged message is there (SEMANTICS 4, 6).

``lost-write``: acknowledged and not in a complete final drain, or passed over by a read that completed after the
acknowledgement and returned by none. ``unseen``: acknowledged, and nobody looked. Does not call lost what was never
looked for.
"""

from typing import Final

import msgspec
import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult, Example
from chaos.storage.history import NEVER_NS
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    EXAMPLES,
    Finding,
    Findings,
    add_findings,
    conclude_findings,
    count_of,
    describe_operation,
    examples,
    findings,
    incomplete,
    node_name,
    place_words,
    ranges_of,
    spread_of,
)
from checkers.history.check import Held, OfEachKey, Telling
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, largest_covering
from checkers.history.log import Log
from checkers.log.final_reads import drain_of
from checkers.log.loss_clusters import Cluster, clusters_of, others_at
from checkers.log.loss_sentence import first_told, loss_sentence

LOST: Final = "lost-write"
DISORDERED: Final = frozenset({"nonmonotonic-send", "int-nonmonotonic-poll", "nonmonotonic-poll"})
"""Under a promise of these what was read back need not have been in order."""

REMOVED: Final = "removed by retention before anybody read it"


class Losses(msgspec.Struct, frozen=True):
    """Vids of lost and unseen messages of one queue, and when each loss was proven (ns)."""

    lost: Ints
    proof_ns: Ints
    unseen: Ints
    why_unseen: str


class LossSummary(Findings, frozen=True, kw_only=True):
    """Findings with what the headline needs."""

    clusters: tuple[Cluster, ...] = ()
    undrained: dict[int, str] = {}  # noqa: RUF012 - msgspec copies defaults


def _covering(log: Log, reads: Ints, offsets: Ints, weight: Ints, none: int) -> Ints:
    """For each of the ascending offsets the largest weight of a read that covers it."""
    lo = np.searchsorted(offsets, log.covered_from[reads])
    hi = np.searchsorted(offsets, log.end[reads])
    return largest_covering(lo, hi, weight, len(offsets), none=none)


def _proofs(log: Log, context: Context, lost: Ints, last_pass: int) -> Ints:
    """When each loss was proven (SEMANTICS 19)."""
    if not len(lost):
        return lost
    ops, place = log.sends[lost], log.place[lost]
    order = np.argsort(place, kind="stable")
    offsets, acked_ns = place[order], log.complete[ops][order]
    returned_ns = np.full(log.values, -1, dtype=np.int64)
    known = log.row_ok & (log.row_vid >= 0)
    np.maximum.at(returned_ns, log.row_vid[known], log.complete[log.row_op[known]])
    last_seen = returned_ns[lost][order]
    reads = log.ok_reads
    done_ns = log.complete[reads]
    earliest = -_covering(log, reads, offsets, -done_ns, -NEVER_NS)
    proof = np.where(last_seen < 0, np.maximum(acked_ns, earliest), NEVER_NS)
    # Messages that had been read: the first stretch between injections with a later read that passes them.
    edges = [fault.inject_ns or 0 for fault in context.timeline.injected()]
    for start, end in zip([0, *edges], [*edges, NEVER_NS], strict=True):
        if not (last_seen >= 0).any():
            break
        inside = (done_ns >= start) & (done_ns < end)
        latest = _covering(log, reads[inside], offsets, done_ns[inside], -1)
        hit = (last_seen >= 0) & (proof == NEVER_NS) & (latest > last_seen)
        proof[hit] = latest[hit]
    if last_pass >= 0:
        proof = np.minimum(proof, np.maximum(log.complete[last_pass], acked_ns))
    out = np.empty_like(proof)
    out[order] = proof
    return out


def losses_of(shard: QueueShard, context: Context) -> Losses:
    """The lost and unseen messages of a queue; worked out once per shard."""
    if "losses" not in shard.memo:
        shard.memo["losses"] = _losses(shard, context)
    losses: Losses = shard.memo["losses"]
    return losses


def _losses(shard: QueueShard, context: Context) -> Losses:
    log, drained = shard.log, drain_of(shard, context)
    if drained.complete and log.returned_acked(drained.last):
        none = np.zeros(0, dtype=np.int64)
        return Losses(none, none, none, REMOVED)
    seen = log.seen(log.row_ok)[log.acked]
    offset = log.acked_place
    why = f"the final reads of queue {shard.key} are not complete: {drained.reason}"
    if drained.complete:
        final = log.seen(log.rows_of(drained.last))
        missing = ~final[log.acked] & ~(seen & (offset < drained.minimum))
        certain = missing & (offset >= drained.minimum)
        # Without any offset: it may have come and gone below the minimum, unless nothing was ever removed.
        certain |= missing & (offset < 0) & (drained.minimum <= 0)
        why = REMOVED
    else:
        missing = ~seen
        certain = np.zeros(len(missing), dtype=np.bool_)
    # Without an acknowledged offset it may still come at a place further on.
    open_question = np.flatnonzero(missing & ~certain & log.acked_at_offset[log.acked])
    if len(open_question) and context.whole:  # else a read that left no record may have returned it
        order = open_question[np.argsort(offset[open_question], kind="stable")]
        reads = log.ok_reads
        passed = _covering(log, reads, offset[order], log.complete[reads], -1)
        certain[order] = passed > log.complete[log.sends[log.acked[order]]]
    lost = log.acked[missing & certain]
    last = drained.last if drained.complete else -1
    return Losses(lost, _proofs(log, context, lost, last), log.acked[missing & ~certain], why)


def _lost_example(shard: QueueShard, context: Context, vid: int) -> Example:
    log = shard.log
    op, offset = int(log.sends[vid]), int(log.place[vid])
    twice, other = others_at(log, np.array([vid]))
    ops = [describe_operation(shard, context, op)]
    fate = "no read that passes the offset returns it" if offset >= 0 else "no final read returned it"
    if len(twice):
        fate = f"offset {offset} holds {log.value(int(other[0]))}"
        if other[0] < len(log.sends):
            again = int(log.sends[other[0]])
            ops.append(describe_operation(shard, context, again))
            if log.type[again] == Type.OK:
                fate += (
                    f", acknowledged by {node_name(context, int(log.node[again]))} at {time_of(shard, context, again)}"
                )
    covering = log.passing(log.ok_reads, offset)
    after = covering[log.complete[covering] > log.complete[op]]
    if len(after):
        ops.append(describe_operation(shard, context, int(after[np.argmin(log.complete[after])]), around=offset))
    who = actor_of(shard, context, op, leads=True, later=True)
    return who.example(
        f"{who.subject} acknowledged {log.value(vid)} at {time_of(shard, context, op)} {place_words(offset, shard.key)}"
        f"{who.then}; {fate}",
        key=shard.key,
        offset=offset if offset >= 0 else None,
        value=log.value(vid),
        ops=tuple(ops),
    )


def _unseen_example(shard: QueueShard, context: Context, vid: int, why: str) -> Example:
    log = shard.log
    op, offset = int(log.sends[vid]), int(log.place[vid])
    who = actor_of(shard, context, op, leads=True, later=True)
    return who.example(
        f"{who.subject} acknowledged {log.value(vid)} at {time_of(shard, context, op)} {place_words(offset, shard.key)}"
        f"{who.then}, and nobody read it: {why}",
        key=shard.key,
        offset=offset if offset >= 0 else None,
        value=log.value(vid),
        ops=(describe_operation(shard, context, op),),
    )


def _first_told_first(row: CheckResult, summary: LossSummary | None, context: Context) -> CheckResult:
    """The row with the message that the sentence gives as an example before all others."""
    lost = row.anomalies.get(LOST)
    if lost is None or summary is None or not summary.clusters:
        return row
    first = first_told(summary.clusters, context)
    others = (one for one in lost.examples if one != first)
    told_first = msgspec.structs.replace(lost, examples=(first, *others)[:EXAMPLES])
    return msgspec.structs.replace(row, anomalies={**row.anomalies, LOST: told_first})


class LossKernel(OfEachKey):
    """Acknowledged messages that are gone, or that nobody looked for."""

    name = "no-loss"
    help = "every acknowledged message is in the final log"
    anomalies = kinds_named("lost-write", "unseen")

    def examine(self, shard: QueueShard, context: Context) -> LossSummary:
        """Look at one queue."""
        losses, log, drained = losses_of(shard, context), shard.log, drain_of(shard, context)
        if not len(losses.lost) and not len(losses.unseen):
            return LossSummary(
                examined=len(log.acked_sends), undrained={} if drained.complete else {shard.key: drained.reason}
            )
        by_offset = losses.lost[np.argsort(log.place[losses.lost], kind="stable")]
        found = findings(
            len(log.acked),
            lost_write=Finding(
                count=len(losses.lost),
                ranges=ranges_of(shard.key, log.place[losses.lost]),
                spread=spread_of(shard, context, log.sends[losses.lost]),
                examples=examples(_lost_example(shard, context, int(vid)) for vid in by_offset),
            ),
            unseen=Finding(
                count=len(losses.unseen),
                ranges=ranges_of(shard.key, log.place[losses.unseen]),
                examples=examples(
                    _unseen_example(shard, context, int(vid), losses.why_unseen) for vid in losses.unseen
                ),
            ),
        )
        return LossSummary(
            examined=found.examined,
            found=found.found,
            clusters=clusters_of(shard, context, losses.lost, lambda vid: _lost_example(shard, context, vid)),
            undrained={} if drained.complete else {shard.key: drained.reason},
        )

    def merge(self, left: LossSummary, right: LossSummary) -> LossSummary:
        """Add two queues."""
        return LossSummary(
            examined=left.examined + right.examined,
            found=add_findings(left.found, right.found),
            clusters=(*left.clusters, *right.clusters),
            undrained={**left.undrained, **right.undrained},
        )

    def held(self, summary: LossSummary | None, anomalies: dict[str, Anomaly], context: Context) -> Held:
        """How many messages were acknowledged and read back."""
        acked = summary.examined if isinstance(summary, LossSummary) else 0
        order = " in order" if DISORDERED.isdisjoint(anomalies) else ""
        twice = " or given twice" if "duplicate" not in anomalies else ""
        were = "was" if acked == 1 else "were"
        queues = count_of(context.run.keys, "queue")
        every = "All" if acked != 1 else "The"
        first = f"{every} {count_of(acked, 'acknowledged message')} of {queues} {were} read back{order}"
        return Held(first=first, then=f"nothing was lost{twice}")

    def headline(self, name: str, summary: LossSummary | None, count: int, context: Context) -> Telling | None:
        """A loss names who acknowledged, under which fault, and who gave the offsets again."""
        if name != LOST or not isinstance(summary, LossSummary) or not summary.clusters:
            return None
        return loss_sentence(summary.clusters, count, context)

    def conclude(self, summary: LossSummary | None, context: Context) -> CheckResult:
        """Unknown as well if some queue was not drained: what was read may have been removed since."""
        row = conclude_findings(
            self.name, summary, context, noun="acknowledged message", clean="every one is in the final log"
        )
        if summary is None or row.valid is False:
            return _first_told_first(row, summary, context)
        unseen = summary.found.get("unseen")
        if row.valid is True and not summary.undrained:
            return row
        reasons = incomplete(summary.undrained)
        if unseen is not None:
            verb = "was" if unseen.count == 1 else "were"
            why = "" if reasons else f": {REMOVED}"
            reasons.append(f"{count_of(unseen.count, 'acknowledged message')} {verb} read by nobody{why}")
        found = row.found if unseen is not None else "each was read once, but may be gone since"
        return msgspec.structs.replace(row, valid=UNKNOWN, found=found, reason="; ".join(reasons))
