"""The consumer group: its offsets are a register per queue, and what lies below them was delivered (SEMANTICS 20).

``lost-commit``: an answer to where the group goes on that no order of the commits and answers explains
(``lost_commits``). ``undelivered``: an acknowledged message below the offset at which the group goes on at the end,
which no poll returned. The module does not judge what lies above that offset: nobody claimed to have processed it.
"""

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from chaos.models.log.words import F
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
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
from checkers.consumers.lost_commits import NOBODY, finding_of, lost_commits
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints, Mask
from checkers.history.log import Log
from checkers.log.final_reads import drain_of


class GroupSummary(Findings, frozen=True, kw_only=True):
    """Findings, and how many operations of a group there were.

    ``unread``: queues whose last offset is not known. ``unordered``: queues in which the search for an order of the
    commits and answers was given up.
    """

    asked: int = 0
    unread: tuple[int, ...] = ()
    unordered: tuple[int, ...] = ()


def last_committed(log: Log, last_pass: int) -> int:
    """The op of the last ok committed-read that began after the last final read, -1 without one."""
    if last_pass < 0:
        return NOBODY
    reads = np.flatnonzero((log.f == F.COMMITTED_READ) & (log.type == Type.OK))
    reads = reads[log.invoke[reads] >= log.complete[last_pass]]
    return int(reads[-1]) if len(reads) else NOBODY


def _undelivered(log: Log, goes_on: int, minimum: int) -> tuple[Ints, Ints]:
    """Vids of the acknowledged messages below the group's offset, and of those of them that no poll returned."""
    offset = log.offset[log.sends[log.acked]]
    below = log.acked[(offset >= minimum) & (offset < goes_on)]
    polled: Mask = np.equal(log.f[log.row_op], F.POLL)
    # A damaged body at its place was delivered; that it is damaged is another anomaly.
    damaged = np.unique(log.row_offset[polled & (log.row_vid < 0)])
    missing = ~log.seen(polled)[below] & ~np.isin(log.offset[log.sends[below]], damaged)
    gone = below[missing]
    return below, gone[np.argsort(log.offset[log.sends[gone]], kind="stable")]


def _while_it_waited(log: Log, poll: int, send: int) -> str:
    """That a message was sent and acknowledged while the poll that passed it was under way; empty if not."""
    began_ns, ended_ns = int(log.invoke[poll]), int(log.complete[poll])
    if not began_ns <= int(log.invoke[send]) or not int(log.complete[send]) <= ended_ns:
        return ""
    return f", and the message arrived while this poll waited ({1000 * (ended_ns - began_ns) / NS_PER_S:.0f} ms)"


def _undelivered_example(shard: QueueShard, context: Context, vid: int, final: int) -> Example:
    log = shard.log
    send = int(log.sends[vid])
    offset = int(log.offset[send])
    polls = log.ok_reads[log.f[log.ok_reads] == F.POLL]
    passing = log.passing(polls, offset)
    commits = np.flatnonzero((log.f == F.COMMIT) & (log.offset > offset) & (log.type == Type.OK))
    # Whoever passed it is behind it; without such a poll, where the group's offset was moved past it.
    did, guilty = "answered that the group goes on behind it", final
    if len(passing):
        did, guilty = (
            f"answered a poll that passed over it{_while_it_waited(log, int(passing[0]), send)}",
            int(passing[0]),
        )
    elif len(commits):
        did, guilty = "was given a commit behind it", int(commits[0])
    who = actor_of(shard, context, guilty, leads=not len(passing))
    shown = [send, *(int(ops[0]) for ops in (passing, commits) if len(ops))]
    shown += [final] if len(shown) == 1 else []
    at = seconds_text(context, who.at_ns)
    return who.example(
        f"{log.value(vid)}, acknowledged by {node_name(context, int(log.node[send]))} at "
        f"{time_of(shard, context, send)} at offset {offset} of queue {shard.key}, was given to no member of the "
        f"group, which goes on at offset {log.next[final]}; at {at} {who.subject} {did}",
        key=shard.key,
        offset=offset,
        value=log.value(vid),
        ops=tuple(describe_operation(shard, context, op, around=offset) for op in shown),
    )


class GroupKernel(OfEachKey):
    """Commits that are gone, and messages that the group passed over."""

    name = "group"
    help = (
        "commits and answers of the group have an order, and every acknowledged message below its offset was delivered"
    )
    anomalies = kinds_named("lost-commit", "undelivered")

    def applies(self, context: Context) -> str | None:
        """Where the clients are a group."""
        return None if F.COMMIT.word in context.run.mix else "clients are no consumer group"

    def examine(self, shard: QueueShard, context: Context) -> GroupSummary:
        """Look at one queue."""
        log = shard.log
        asked = int(np.isin(log.f, [int(F.COMMIT), int(F.COMMITTED_READ)]).sum())
        if not asked:
            return GroupSummary(unread=(shard.key,))
        lost = lost_commits(log, context.streams)
        drained = drain_of(shard, context)
        final = last_committed(log, drained.last)
        goes_on = int(log.next[final]) if final >= 0 else 0
        below, gone = _undelivered(log, goes_on, drained.minimum)
        gone = gone if context.whole else gone[:0]  # a poll that left no record may have returned it

        found = findings(
            len(below),
            lost_commit=finding_of(shard, context, lost),
            undelivered=Finding(
                count=len(gone),
                ranges=ranges_of(shard.key, log.offset[log.sends[gone]]),
                examples=examples(_undelivered_example(shard, context, int(vid), final) for vid in gone),
            ),
        )
        return GroupSummary(
            examined=found.examined,
            found=found.found,
            asked=asked,
            unread=() if final >= 0 else (shard.key,),
            unordered=(shard.key,) if lost.given_up else (),
        )

    def merge(self, left: GroupSummary, right: GroupSummary) -> GroupSummary:
        """Add two queues."""
        return GroupSummary(
            examined=left.examined + right.examined,
            found=add_findings(left.found, right.found),
            asked=left.asked + right.asked,
            unread=(*left.unread, *right.unread),
            unordered=(*left.unordered, *right.unordered),
        )

    def conclude(self, summary: GroupSummary | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        summary = summary if summary is not None else GroupSummary()
        row = conclude_findings(
            self.name,
            summary,
            context,
            noun="acknowledged message",
            clean="each was delivered, and every commit that was acknowledged was kept",
        )
        if row.valid is not True or not (summary.unread or summary.unordered):
            return row
        reasons, unknown = [], []
        if summary.unread:
            unknown.append("where the group goes on is not known")
            queues = numbers("queue", summary.unread)
            reasons.append(f"where the group goes on in {queues} was not read after the final read")
        if summary.unordered:
            unknown.append("not all answers were judged")
            reasons.append(
                f"the order of commits and answers in {numbers('queue', summary.unordered)} has too many possibilities"
            )
        return msgspec.structs.replace(row, valid=UNKNOWN, found="; ".join(unknown), reason="; ".join(reasons))
