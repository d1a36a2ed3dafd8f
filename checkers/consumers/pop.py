"""Popped messages: each is given to somebody, to one at a time, and again until it is acknowledged (SEMANTICS 20).

``undelivered``: an acknowledged message that no pop returned, though pops came back empty at the end.
``never-redelivered``: one that was given, was acknowledged by nobody, and was not given again after its time.
``redelivered-after-ack``: one that was given again although its holder's ack had been answered ok in time.
``early-redelivery``: one that was given to somebody while another had it for certain. Does not judge what the bounds of
time leave open.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from chaos.models.log.words import F
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.failover import failed_over
from checkers.anomalies.findings import (
    Finding,
    Findings,
    add_findings,
    conclude_findings,
    describe_operation,
    examples,
    findings,
    node_name,
    numbers,
    ranges_of,
    seconds_text,
)
from checkers.consumers.pop_leases import NOBODY, Leases
from checkers.consumers.pop_strays import strays
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.clock_skew import replicas_skew
from checkers.history.columns import Ints, Mask
from checkers.history.last_answers import is_spared
from checkers.log.final_reads import drain_of

NO_EMPTY: Final = "no pop came back empty after the last heal"


class PopSummary(Findings, frozen=True, kw_only=True):
    """Findings, how many pops there were, and why the last pops of a queue do not show that nothing is left.

    ``undecided``: deliveries that were early, or not, by less than the brokers' clocks may differ.
    """

    asked: int = 0
    undecided: int = 0
    unended: dict[int, str] = msgspec.field(default_factory=dict)


class Again(NamedTuple):
    """Deliveries that should not have been: each, the one before it, and whether a failover may be behind it."""

    rows: Ints
    before: Ints
    excused: Mask


class _Queue:
    """One queue while it is looked at, by clocks that differ by up to ``spread_ns``."""

    def __init__(self, shard: QueueShard, context: Context, spread_ns: int) -> None:
        self.shard, self.context = shard, context
        self.log = shard.log
        self.leases = Leases(shard, spread_ns)
        self.last = _last_empty(shard, context)
        self.last_ns = int(self.log.invoke[self.last]) if self.last >= 0 else NOBODY
        self._return_ns = int(context.run.promises.redelivered_within_s * NS_PER_S)
        heard = self.leases.unheard_ns
        self._unheard = heard + self._return_ns if heard else 0

    def sent_ns(self, vids: Ints) -> Ints:
        """When the sends of these values were invoked."""
        return self.log.invoke[self.log.sends[vids]]

    def places(self, vids: Ints) -> Ints:
        """The acknowledged offsets of those of these values that have one."""
        offsets = self.log.offset[self.log.sends[vids[vids < len(self.log.sends)]]]
        return offsets[offsets >= 0]

    def undelivered(self) -> Ints:
        """Acknowledged messages that nobody was given, by offset; none while a pop may have them that nobody heard.

        Nor where the record of a pop may have been cut off.
        """
        log, leases = self.log, self.leases
        if self._unheard > self.last_ns or not self.context.whole:
            return np.zeros(0, dtype=np.int64)
        sends = log.sends[log.acked]
        damaged = np.unique(leases.place[leases.damaged])
        gone = ~leases.given[log.acked] & (log.complete[sends] < self.last_ns)
        gone &= log.offset[sends] >= drain_of(self.shard, self.context).minimum
        gone &= ~np.isin(log.offset[sends], damaged)
        vids = log.acked[gone]
        return vids[np.argsort(log.offset[log.sends[vids]], kind="stable")]

    def unacknowledged(self) -> Ints:
        """Vids that were given and that no ack may have settled."""
        return np.flatnonzero(self.leases.given & ~self.leases.perhaps_acked)

    def never_again(self) -> Ints:
        """Those of them that were due to be given again before the last empty pop, and that it did not find."""
        if self._unheard > self.last_ns or not self.context.whole:
            return np.zeros(0, dtype=np.int64)
        open_vids = self.unacknowledged()
        return open_vids[self.leases.over_ns[open_vids] + self._return_ns <= self.last_ns]

    def unended(self) -> str:
        """Why the last pops do not show that nothing is left; empty if they do."""
        if self.last < 0:
            return NO_EMPTY
        sends = self.log.sends[self.log.acked]
        due = max(
            self._unheard,
            int((self.leases.over_ns[self.unacknowledged()] + self._return_ns).max(initial=0)),
            int(self.log.complete[sends].max(initial=0)),
        )
        return "" if due <= self.last_ns else "a message could still come when a pop last came back empty"

    def _excused(self, rows: Ints, before: Ints) -> Mask:
        """Whether another leader may have come between the send of what was given again and that."""
        leases = self.leases
        other: Mask = leases.node[rows] != leases.node[before]
        return other | failed_over(self.context, self.shard.key, self.sent_ns(leases.vid[rows]), leases.complete[rows])

    def after_ack(self) -> Again:
        """Deliveries asked for after an ack of their message was answered ok."""
        rows, before = self.leases.redeliveries()
        vid = self.leases.vid[rows]
        bad = (self.leases.acked_ns[vid] < self.leases.invoke[rows]) & ~self.leases.doubtful[vid]
        return Again(rows[bad], before[bad], self._excused(rows[bad], before[bad]))

    def early_deliveries(self) -> Again:
        """Deliveries that were over before the holder's time was, whichever of the two came first."""
        leases = self.leases
        rows, before = leases.redeliveries()
        vid = leases.vid[rows]
        bad = (leases.complete[rows] < leases.earliest[before]) & (leases.complete[before] < leases.earliest[rows])
        bad &= ~leases.doubtful[vid] & (leases.acked_ns[vid] >= leases.invoke[rows])
        return Again(rows[bad], before[bad], self._excused(rows[bad], before[bad]))


def _accused(queue: _Queue) -> int:
    """How many deliveries should not have been and are covered by no promise."""
    return sum(int(np.count_nonzero(~again.excused)) for again in (queue.after_ack(), queue.early_deliveries()))


def _last_empty(shard: QueueShard, context: Context) -> int:
    """The op of the last ok pop after the last heal that returned nothing, -1 without one."""
    log = shard.log
    healed_ns = context.timeline.last_heal_ns()
    ops = np.flatnonzero(
        (log.f == F.POP)
        & (log.type == Type.OK)
        & (shard.operations["count"] == 0)
        & (log.invoke >= healed_ns)
        & is_spared(log.node, context)
    )
    return int(ops[-1]) if len(ops) else NOBODY


def _undelivered_example(queue: _Queue, vid: int) -> Example:
    shard, context, log = queue.shard, queue.context, queue.log
    send, offset = int(log.sends[vid]), int(log.offset[log.sends[vid]])
    who = actor_of(shard, context, send, leads=True, later=True)
    return who.example(
        f"at {time_of(shard, context, send)} {who.subject} acknowledged {log.value(vid)} at offset {offset} of queue "
        f"{shard.key}{who.then}; no pop returned it, and at {time_of(shard, context, queue.last)} a pop at "
        f"{node_name(context, int(log.node[queue.last]))} came back empty",
        key=shard.key,
        offset=offset,
        value=log.value(vid),
        ops=(describe_operation(shard, context, send), describe_operation(shard, context, queue.last)),
    )


def _never_example(queue: _Queue, vid: int) -> Example:
    shard, context, log, leases = queue.shard, queue.context, queue.log, queue.leases
    rows = np.flatnonzero(leases.vid == vid)
    last = int(rows[np.argmax(leases.complete[rows])])
    op = int(leases.op[last])
    who = actor_of(shard, context, op, leads=True, later=True)
    offset = int(log.offset[log.sends[vid]])
    place = f" at offset {offset}" if offset >= 0 else ""
    return who.example(
        f"at {time_of(shard, context, op)} {who.subject} gave {log.value(vid)}{place} of queue {shard.key} to client "
        f"{leases.client[last]}{who.then}; its time was over at {seconds_text(context, int(leases.over_ns[vid]))}, "
        f"nobody acknowledged it, nobody was given it again, and at {time_of(shard, context, queue.last)} a pop at "
        f"{node_name(context, int(log.node[queue.last]))} came back empty",
        key=shard.key,
        offset=offset if offset >= 0 else None,
        value=log.value(vid),
        ops=(describe_operation(shard, context, op), describe_operation(shard, context, queue.last)),
    )


def _again_example(queue: _Queue, row: int, before: int, *, excused: bool, acked: bool) -> Example:
    shard, context, log, leases = queue.shard, queue.context, queue.log, queue.leases
    vid, op, earlier = int(leases.vid[row]), int(leases.op[row]), int(leases.op[before])
    who = actor_of(shard, context, op, leads=True)
    offset = int(log.offset[log.sends[vid]])
    place = f" at offset {offset}" if offset >= 0 else ""
    shown = [earlier, op]
    if acked:
        good = (leases.ack_vid == vid) & (log.complete[leases.acks] == leases.acked_ns[vid])
        ack = int(leases.acks[np.flatnonzero(good)[0]])
        shown = [earlier, ack, op]
        why = (
            f"although {node_name(context, int(log.node[ack]))} had acknowledged at {time_of(shard, context, ack)} "
            f"that client {shard.operations['client'][ack]} was done with it"
        )
    else:
        why = (
            f"which {node_name(context, int(log.node[earlier]))} had given to client {leases.client[before]} at "
            f"{time_of(shard, context, earlier)}, until {seconds_text(context, int(leases.earliest[before]))} at least"
        )
    return who.example(
        f"at {time_of(shard, context, op)} {who.subject} gave {log.value(vid)}{place} of queue {shard.key} to client "
        f"{leases.client[row]}, {why}",
        key=shard.key,
        offset=offset if offset >= 0 else None,
        value=log.value(vid),
        excused=excused,
        ops=tuple(describe_operation(shard, context, one) for one in shown),
    )


def _finding(queue: _Queue, again: Again, *, acked: bool) -> Finding:
    """Deliveries that should not have been, those first that no failover excuses."""
    order = np.argsort(again.excused, kind="stable")

    def told_of() -> Iterator[Example]:
        for at in order.tolist():
            yield _again_example(
                queue, int(again.rows[at]), int(again.before[at]), excused=bool(again.excused[at]), acked=acked
            )

    places = queue.places(queue.leases.vid[again.rows])
    return Finding(
        count=len(again.rows),
        excused=int(again.excused.sum()),
        examples=examples(told_of()),
        ranges=ranges_of(queue.shard.key, places),
    )


class PopKernel(OfEachKey):
    """Messages that a pop should have given and did not, or gave and should not have."""

    name = "pop"
    help = (
        "what is popped is given to one at a time, again after its time and never after its ack; nothing is passed over"
    )
    anomalies = kinds_named("undelivered", "never-redelivered", "redelivered-after-ack", "early-redelivery")

    def applies(self, context: Context) -> str | None:
        """Where consumers pop."""
        return None if F.POP.word in context.run.mix else "nobody pops"

    def examine(self, shard: QueueShard, context: Context) -> PopSummary:
        """Look at one queue."""
        asked = int((shard.log.f == F.POP).sum())
        if not asked:
            return PopSummary(unended={shard.key: NO_EMPTY})
        spread_ns = replicas_skew(context).spread_ns
        queue = _Queue(shard, context, spread_ns)
        gone, never = queue.undelivered(), queue.never_again()
        found = findings(
            len(shard.log.acked),
            undelivered=Finding(
                count=len(gone),
                ranges=ranges_of(shard.key, queue.places(gone)),
                examples=examples(_undelivered_example(queue, int(vid)) for vid in gone),
            ),
            never_redelivered=Finding(
                count=len(never),
                ranges=ranges_of(shard.key, queue.places(never)),
                examples=examples(_never_example(queue, int(vid)) for vid in never),
            ),
            redelivered_after_ack=_finding(queue, queue.after_ack(), acked=True),
            early_redelivery=_finding(queue, queue.early_deliveries(), acked=False),
        )
        why = queue.unended()
        return PopSummary(
            examined=found.examined,
            found=add_findings(found.found, strays(shard, context, queue.leases)),
            asked=asked,
            undecided=_accused(_Queue(shard, context, 0)) - _accused(queue) if spread_ns else 0,
            unended={shard.key: why} if why else {},
        )

    def merge(self, left: PopSummary, right: PopSummary) -> PopSummary:
        """Add two queues."""
        return PopSummary(
            examined=left.examined + right.examined,
            found=add_findings(left.found, right.found),
            asked=left.asked + right.asked,
            undecided=left.undecided + right.undecided,
            unended={**left.unended, **right.unended},
        )

    def conclude(self, summary: PopSummary | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        summary = summary if summary is not None else PopSummary()
        row = conclude_findings(
            self.name,
            summary,
            context,
            noun="acknowledged message",
            clean="each was given until it was acknowledged, to one at a time",
        )
        if row.valid is not True or not (summary.unended or summary.undecided):
            return row
        if not summary.unended:
            noun, many = ("delivery", "was") if summary.undecided == 1 else ("deliveries", "were")
            reason = (
                f"{summary.undecided} {noun} {many} too early only if the brokers' clocks agree, and they "
                f"{replicas_skew(context)}"
            )
            return msgspec.structs.replace(row, valid=UNKNOWN, found="early or not cannot be told", reason=reason)
        whys = sorted(set(summary.unended.values()))
        keys = {why: [key for key, own in summary.unended.items() if own == why] for why in whys}
        reason = join_names([f"{numbers('queue', keys[why])} was not popped to its end: {why}" for why in whys])
        return msgspec.structs.replace(row, valid=UNKNOWN, found="what is left to pop is not known", reason=reason)
