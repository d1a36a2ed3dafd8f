"""No value at two offsets (SEMANTICS 5). Reading an offset twice is none of this module's business."""

from collections.abc import Iterator

import numpy as np

from chaos.core.verdict import CheckResult, Example
from checkers.findings import Finding, Findings, concluded, examples, findings, merged, ranges_of, told
from checkers.kernel import Context, QueueShard


class DuplicatesKernel:
    """One value at several offsets of its queue."""

    name = "duplicates"
    help = "no value sits at two offsets (duplicate)"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        offsets, vids = log.pairs
        doubled = np.flatnonzero(np.bincount(vids, minlength=log.values) > 1) if len(vids) else vids

        def told_of() -> Iterator[Example]:
            for vid in map(int, doubled):
                at = offsets[vids == vid]
                places = ", ".join(map(str, at[:-1])) + f" and {at[-1]}"
                ops = [told(shard, context, int(log.sends[vid]))] if vid < len(log.sends) else []
                rows = np.flatnonzero(log.row_vid == vid)
                reads = {int(log.row_offset[row]): int(log.row_op[row]) for row in rows[::-1]}
                ops += [told(shard, context, op, around=offset) for offset, op in sorted(reads.items())[:3]]
                yield Example(
                    sentence=f"{log.value(vid)} is at offsets {places} of queue {shard.key}",
                    key=shard.key, offset=int(at[0]), last_offset=int(at[-1]), value=log.value(vid), ops=tuple(ops),
                )  # fmt: skip

        touched = offsets[np.isin(vids, doubled)]
        return findings(
            log.values,
            duplicate=Finding(
                count=len(doubled), examples=examples(told_of()), ranges=ranges_of(shard.key, touched)
            ),
        )

    def merge(self, left: Findings, right: Findings) -> Findings:
        """Add two queues."""
        return merged(left, right)

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        return concluded(self.name, summary, context, noun="value", clean="each sits at one offset")
