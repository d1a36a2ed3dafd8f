"""One offset, one value (SEMANTICS 5), acknowledged offsets and read ones alike."""

from collections.abc import Iterator

import numpy as np

from chaos.core.name_lists import listed
from chaos.core.op import Type
from chaos.core.verdict import CheckResult, Example
from checkers.anomalies.attribution import Actor, actor_of, when
from checkers.anomalies.catalogue import named
from checkers.anomalies.findings import Finding, Findings, concluded, examples, findings, merged, ranges_of, told
from checkers.history.check import OfEachKey
from checkers.history.columns import distinct
from checkers.history.kernel import Context, QueueShard


class OffsetsKernel(OfEachKey):
    """Offsets that hold several values."""

    name = "offsets"
    help = "no offset holds two values"
    anomalies = named("inconsistent-offsets")

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one queue."""
        log = shard.log
        offsets, vids = log.pairs
        known = log.known_offsets
        bad = distinct(offsets[1:][offsets[1:] == offsets[:-1]])

        def holder(vid: int, offset: int) -> tuple[int, str, Actor]:
            """The operation that shows a value at an offset, how it does in words, and who answered it."""
            send = int(log.sends[vid]) if vid < len(log.sends) else -1
            acked = send >= 0 and bool(log.type[send] == Type.OK)
            if acked and log.offset[send] == offset:
                said = f"{log.value(vid)} (acknowledged at {when(shard, context, send)} by"
                return send, said, actor_of(shard, context, send, leads=True)
            row = int(np.flatnonzero((log.row_vid == vid) & (log.row_offset == offset))[0])
            op = int(log.row_op[row])
            never = "" if acked or send < 0 else "never acknowledged, "
            said = f"{log.value(vid)} ({never}read at {when(shard, context, op)} from"
            return op, said, actor_of(shard, context, op)

        def told_of() -> Iterator[Example]:
            for offset in map(int, bad):
                holders = [(*holder(int(vid), offset), int(vid)) for vid in vids[offsets == offset]]
                holders.sort(key=lambda one: int(log.complete[one[0]]))
                *before, (_, said, who, vid) = holders
                given = [f"{text} {other.plain})" for _, text, other, _ in before]
                yield who.example(
                    f"offset {offset} of queue {shard.key} was given to {listed([*given, f'{said} {who.words})'])}",
                    key=shard.key,
                    offset=offset,
                    value=log.value(vid),
                    ops=tuple(told(shard, context, op, around=offset) for op, *_ in holders[:4]),
                )

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
