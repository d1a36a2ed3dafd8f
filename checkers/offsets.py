"""One offset, one value (SEMANTICS 5), acknowledged offsets and read ones alike."""

from collections.abc import Iterator

import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import CheckResult, Example
from checkers.findings import (
    Finding,
    Findings,
    concluded,
    examples,
    findings,
    merged,
    node_name,
    ranges_of,
    seconds_text,
    told,
)
from checkers.kernel import Context, QueueShard


class OffsetsKernel:
    """Offsets that hold several values."""

    name = "offsets"
    help = "no offset holds two values (inconsistent-offsets)"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        offsets, vids = log.pairs
        known, counts = np.unique(offsets, return_counts=True)
        bad = known[counts > 1]

        def holder(vid: int, offset: int) -> tuple[str, int]:
            """How a value is known to be at an offset, and the operation that shows it."""
            never = ""
            if vid < len(log.sends):
                send = int(log.sends[vid])
                if log.type[send] == Type.OK and log.offset[send] == offset:
                    return f"{log.value(vid)} (acknowledged by {node_name(context, int(log.node[send]))})", send
                never = "" if log.type[send] == Type.OK else "never acknowledged, "
            row = int(np.flatnonzero((log.row_vid == vid) & (log.row_offset == offset))[0])
            op = int(log.row_op[row])
            when = seconds_text(context, int(log.complete[op]))
            return f"{log.value(vid)} ({never}read from {node_name(context, int(log.node[op]))} at {when})", op

        def told_of() -> Iterator[Example]:
            for offset in map(int, bad):
                holders = [holder(int(vid), offset) for vid in vids[offsets == offset]]
                holders.sort(key=lambda one: int(log.complete[one[1]]))
                yield Example(
                    sentence=f"offset {offset} of queue {shard.key} was given to "
                    + " and to ".join(text for text, _ in holders),
                    key=shard.key, offset=offset,
                    ops=tuple(told(shard, context, op, around=offset) for _, op in holders[:4]),
                )  # fmt: skip

        return findings(
            len(known),
            inconsistent_offsets=Finding(
                count=len(bad), examples=examples(told_of()), ranges=ranges_of(shard.key, bad)
            ),
        )

    def merge(self, left: Findings, right: Findings) -> Findings:
        """Add two queues."""
        return merged(left, right)

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        return concluded(self.name, summary, context, noun="offset", clean="each holds one value")
