"""Whether the final reads show all that the system will ever have (SEMANTICS 10, 12).

Without it a message that nobody read may still come, so that nothing can be called lost. ``checkers.log.final_reads``
judges each queue's reads; here is the row of the verdict table. Does not call anything lost.
"""

from typing import Literal

import msgspec

from chaos.core.verdict import UNKNOWN, CheckResult, Example
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Finding, anomaly, count_of, examples, incomplete
from checkers.history.check import OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.log.final_reads import drain_of

INCOMPLETE: Literal["drain-incomplete"] = "drain-incomplete"


class Drains(msgspec.Struct, frozen=True, kw_only=True):
    """Queue to why its final reads are not complete; empty if they are."""

    reasons: dict[int, str] = {}


class FinalReadsCheck(OfEachKey):
    """Two passes of final reads in a row that show the same of every queue."""

    name = "final-reads"
    is_assumption = True
    help = "the final reads of every queue are complete"
    anomalies = kinds_named(INCOMPLETE)

    def examine(self, shard: QueueShard, context: Context) -> Drains:
        """Look at one queue."""
        return Drains(reasons={shard.key: drain_of(shard, context).reason})

    def merge(self, left: Drains, right: Drains) -> Drains:
        """Add two queues."""
        return Drains(reasons={**left.reasons, **right.reasons})

    def conclude(self, summary: Drains | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        reasons = summary.reasons if summary is not None else {}
        queues = range(context.run.keys)
        undrained = {key: why for key in queues if (why := reasons.get(key, "no final read"))}
        texts = incomplete(undrained)
        if not texts and not context.timeline.final_phases_ended:
            texts = ["the phase of the final drain did not end well"]
        found = Finding(
            count=max(len(undrained), len(texts)), examples=examples(Example(sentence=text) for text in texts)
        )
        return CheckResult(
            name=self.name,
            valid=UNKNOWN if texts else True,
            found=INCOMPLETE if texts else "complete",
            reason="; ".join(texts),
            examined=count_of(context.run.keys, "queue"),
            anomalies={INCOMPLETE: anomaly(INCOMPLETE, found, context)} if texts else {},
        )
