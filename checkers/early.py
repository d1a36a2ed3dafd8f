"""No delayed message is given to anybody before its time (SEMANTICS 20).

Judged by the end of the read that returned it, against the instant its sender named less what the system
declares. So a message that was given away early by less than the read took is not noticed, and none is
called early that was not. How late a message comes is no business of this check.
"""

from collections.abc import Iterator

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.op import F
from chaos.core.verdict import CheckResult, Example
from checkers.blame import READ_WORDS, actor_of, when
from checkers.columns import Ints
from checkers.findings import Finding, Findings, concluded, examples, findings, merged, ranges_of, seconds_text, told
from checkers.kernel import Context, QueueShard
from checkers.log import Log


def early_rows(log: Log, allowance_ns: int) -> Ints:
    """The rows of reads that ended before the time of the delayed message they returned, less the allowance."""
    delayed = np.zeros(log.values + 1, dtype=np.bool_)  # the last for damaged rows, whose vid is -1
    delayed[: len(log.sends)] = log.f[log.sends] == F.SCHEDULE
    rows = np.flatnonzero(delayed[log.row_vid]) if delayed.any() else np.zeros(0, dtype=np.int64)
    sends = log.sends[log.row_vid[rows]]
    due_ns = log.argument[sends] - allowance_ns
    found: Ints = rows[log.complete[log.row_op[rows]] < due_ns]
    return found


class EarlyKernel:
    """Delayed messages that a read returned before their time."""

    name = "early"
    help = "no delayed message is given to anybody before its time (early-delivery)"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        rows = early_rows(log, int(context.run.promises.early_s * NS_PER_S))
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
                    f"at {when(shard, context, read)} {who.subject} returned {log.value(vid)} at offset {offset} of "
                    f"queue {shard.key} to a {READ_WORDS[F(int(log.f[read]))]}, {before_s:.1f} s before its time, "
                    f"{seconds_text(context, due_ns)}",
                    key=shard.key, offset=offset, value=log.value(vid),
                    ops=(told(shard, context, send), told(shard, context, read, around=offset)),
                )  # fmt: skip

        return findings(
            int((log.f[log.sends] == F.SCHEDULE).sum()),
            early_delivery=Finding(
                count=len(vids), examples=examples(told_of()), ranges=ranges_of(shard.key, log.row_offset[earliest])
            ),
        )

    def merge(self, left: Findings, right: Findings) -> Findings:
        """Add two queues."""
        return merged(left, right)

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult | None:
        """The row of the verdict table; none where nothing was delayed."""
        if context.run.mix.get(F.SCHEDULE.word, 0) <= 0 and (summary is None or not summary.examined):
            return None
        return concluded(self.name, summary, context, noun="delayed message", clean="none was given before its time")
