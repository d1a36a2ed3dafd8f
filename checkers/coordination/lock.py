"""The check ``lock``: one holder at a time, tokens that rise, and no write of a holder after a later one's.

Only what is certain counts (semantics.md, 32). A client holds a lock for certain from when it received the answer until
it asks to give it back, or until the lease may have ended at the earliest. Each question is decided in n log n.
"""

from collections.abc import Iterator

import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, CheckResult, Example
from chaos.models.coordination.lock import MODEL, F
from chaos.models.objects.answers import TOLD
from checkers.anomalies.catalogue import named
from checkers.anomalies.findings import Finding, Findings, concluded, counted, examples, findings, merged, told
from checkers.coordination.distinct_ids import given_twice, out_of_order
from checkers.coordination.holds import SURE_NS_PER_MS, Pairs, held_until, too_many
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.history.words import words_of


class LockCheck(OfEachKey):
    """Looks at each lock."""

    name = "lock"
    help = "a lock has one holder, tokens rise, and who lost the lock writes no more"
    anomalies = named("lock-held-twice", "write-after-loss", "token-not-rising")

    def applies(self, context: Context) -> str | None:
        """To runs of its model."""
        return None if context.run.model == MODEL else f"it is a run of the model {context.run.model}"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one lock."""
        ops, columns = shard.ops, shard.operations
        known = (ops.type == Type.OK) & (columns["answer"] == TOLD)
        granted = np.flatnonzero(known & (ops.f == F.ACQUIRE))
        written = np.flatnonzero(known & (ops.f == F.GUARDED))
        back = np.flatnonzero((ops.f == F.UNLOCK) & (ops.type != Type.NOT_SENT))
        token, asked, answered = columns["token"][granted], ops.invoke[granted], ops.complete[granted]
        ends = held_until(
            token, asked + columns["lease_ms"][granted] * SURE_NS_PER_MS, columns["token"][back], ops.invoke[back]
        )
        version = columns["version"][written]
        lost = out_of_order(columns["token"][written], version, version)
        rising = sorted(
            {late: early for early, late in (*given_twice(token), *out_of_order(token, asked, answered))}.items()
        )

        def finding(which: Ints, pairs: Pairs, sentence: str) -> Finding:
            return Finding(count=len(pairs), examples=examples(_examples(shard, context, which, pairs, sentence)))

        return findings(
            len(granted),
            lock_held_twice=finding(
                granted, overlapping(answered, ends), "was granted under token {late} while token {early} held it"
            ),
            write_after_loss=finding(
                written, lost, "was written under token {late} after it had been written under token {early}"
            ),
            token_not_rising=finding(
                granted, [(early, late) for late, early in rising], "token {late} was given after token {early}"
            ),
        )

    def merge(self, left: Findings, right: Findings) -> Findings:
        """Add what two locks showed."""
        return merged(left, right)

    def held(
        self,
        summary: Findings | None,
        anomalies: dict[str, Anomaly],  # noqa: ARG002 - they are told beside
        context: Context,  # noqa: ARG002 - every run is told alike
    ) -> Held:
        """How many times locks were granted, and that nobody came between."""
        return Held(first=f"{counted(summary.examined if summary else 0, 'grant')} of locks, never two at once")

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        clean = "one holder at a time, and no write of an earlier one"
        return concluded(self.name, summary, context, noun="grant", clean=clean)


def overlapping(begins: Ints, ends: Ints) -> Pairs:
    """Grants that began for certain while another one held for certain: (that one, the grant)."""
    return [(early, late) for early, late in too_many(begins, ends, 1)]


def _examples(shard: QueueShard, context: Context, which: Ints, pairs: Pairs, sentence: str) -> Iterator[Example]:
    """Each pair as two operations and a sentence."""
    token = shard.operations["token"]
    for early, late in pairs:
        ops = (int(which[early]), int(which[late]))
        said = sentence.format(early=token[ops[0]], late=token[ops[1]])
        yield Example(
            sentence=f"{words_of(context.run).key} {shard.key}: {said}",
            key=shard.key,
            at_ns=int(shard.ops.invoke[ops[1]]),
            ops=tuple(told(shard, context, op) for op in ops),
        )
