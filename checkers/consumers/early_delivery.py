"""No delayed message is given to anybody before its time (SEMANTICS 20).

Judged by the end of the read that returned it, against the instant its sender named less what the system declares, and
less what the brokers' clocks were ahead of the sender's (``checkers.history.clock_skew``). So a message that was
given away early by less than the read took is not noticed, and none is called early that was not. How late a message
comes is no business of this check.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import UNKNOWN, CheckResult, Example
from chaos.models.log.words import F
from checkers.anomalies.attribution import READ_WORDS, actor_of, time_of
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import (
    Finding,
    Findings,
    conclude_findings,
    count_of,
    describe_operation,
    examples,
    findings,
    merge_findings,
    ranges_of,
    seconds_text,
)
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.clock_skew import replicas_skew
from checkers.history.columns import Ints
from checkers.history.log import Log


def early_rows(log: Log, allowance_ns: int) -> Ints:
    """The rows of reads that ended before the time of the delayed message they returned, less the allowance."""
    delayed = np.zeros(log.values + 1, dtype=np.bool_)  # the last for damaged rows, whose vid is -1
    delayed[: len(log.sends)] = log.f[log.sends] == F.SCHEDULE
    rows = np.flatnonzero(delayed[log.row_vid]) if delayed.any() else np.zeros(0, dtype=np.int64)
    sends = log.sends[log.row_vid[rows]]
    due_ns = log.argument[sends] - allowance_ns
    found: Ints = rows[log.complete[log.row_op[rows]] < due_ns]
    return found


class EarlySummary(Findings, frozen=True, kw_only=True):
    """Findings, and the messages that were early by less than the brokers' clocks were certainly or perhaps ahead."""

    undecided: int = 0
    explained: int = 0


class EarlyKernel(OfEachKey):
    """Delayed messages that a read returned before their time."""

    name = "early"
    help = "no delayed message is given to anybody before its time"
    anomalies = kinds_named("early-delivery")

    def applies(self, context: Context) -> str | None:
        """Where messages are delayed."""
        return None if F.SCHEDULE.word in context.run.mix else "no message is delayed"

    def examine(self, shard: QueueShard, context: Context) -> EarlySummary:
        """Look at one queue."""
        log, skew = shard.log, replicas_skew(context)
        allowance_ns = int(context.run.promises.early_s * NS_PER_S)
        rows = early_rows(log, allowance_ns + skew.early_ns)
        in_time, perhaps = (
            len(np.unique(log.row_vid[early_rows(log, allowance_ns + ahead_ns)]))
            for ahead_ns in (0, skew.early_for_certain_ns)
        )
        order = np.argsort(log.complete[log.row_op[rows]], kind="stable")
        vids, first = np.unique(log.row_vid[rows][order], return_index=True)
        earliest = rows[order][first]

        def told_of() -> Iterator[Example]:
            for vid, row in zip(vids.tolist(), earliest.tolist(), strict=True):
                read, send, offset = int(log.row_op[row]), int(log.sends[vid]), int(log.row_offset[row])
                who = actor_of(shard, context, read)
                due_ns = int(log.argument[send])
                before_s = (due_ns - int(log.complete[read])) / NS_PER_S
                yield who.example(
                    f"at {time_of(shard, context, read)} {who.subject} returned {log.value(vid)} at offset {offset} of "
                    f"queue {shard.key} to a {READ_WORDS[F(int(log.f[read]))]}, {before_s:.1f} s before its time, "
                    f"{seconds_text(context, due_ns)}",
                    key=shard.key,
                    offset=offset,
                    value=log.value(vid),
                    ops=(
                        describe_operation(shard, context, send),
                        describe_operation(shard, context, read, around=offset),
                    ),
                )

        found = findings(
            int((log.f[log.sends] == F.SCHEDULE).sum()),
            early_delivery=Finding(
                count=len(vids), examples=examples(told_of()), ranges=ranges_of(shard.key, log.row_offset[earliest])
            ),
        )
        return EarlySummary(
            examined=found.examined, found=found.found, undecided=perhaps - len(vids), explained=in_time - perhaps
        )

    def merge(self, left: EarlySummary, right: EarlySummary) -> EarlySummary:
        """Add two queues."""
        both = merge_findings(left, right)
        return EarlySummary(
            examined=both.examined,
            found=both.found,
            undecided=left.undecided + right.undecided,
            explained=left.explained + right.explained,
        )

    def conclude(self, summary: EarlySummary | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        clean = "none was given before its time"
        if summary is not None and summary.explained:
            clean = f"{count_of(summary.explained, 'message')} came before the time as far as clocks are ahead"
        row = conclude_findings(self.name, summary, context, noun="delayed message", clean=clean)
        if summary is None or not summary.undecided or row.valid is not True:
            return row
        reason = (
            f"{count_of(summary.undecided, 'delayed message')} came before the time, and whether the brokers' clocks "
            f"explain it cannot be told: they {replicas_skew(context)}"
        )
        return msgspec.structs.replace(row, valid=UNKNOWN, found="early or not cannot be told", reason=reason)
