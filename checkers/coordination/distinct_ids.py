"""The check ``distinct-ids``: no id of a source is given twice, and ids grow with real time (semantics.md, 31).

Both are decided in n log n: equal numbers are neighbours once they are sorted, and the highest id that was answered
before an instant is a running maximum over the answers in order of time.
"""

from collections.abc import Iterator

import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, CheckResult, Example
from chaos.models.coordination.unique_ids import MODEL
from chaos.models.objects.answers import TOLD
from checkers.anomalies.catalogue import named
from checkers.anomalies.findings import Finding, Findings, concluded, counted, examples, findings, merged, told
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints
from checkers.history.words import words_of


class DistinctIdsCheck(OfEachKey):
    """Looks at the ids of each source."""

    name = "distinct-ids"
    help = "no id of a source is given twice, and none is lower than one before it"
    anomalies = named("id-given-twice", "id-out-of-order")

    def applies(self, context: Context) -> str | None:
        """To runs of its model."""
        return None if context.run.model == MODEL else f"it is a run of the model {context.run.model}"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one source. Only an ok answer gave an id: whoever heard anything else does not use one."""
        ops, columns = shard.ops, shard.operations
        given = np.flatnonzero((ops.type == Type.OK) & (columns["answer"] == TOLD))
        number, asked, answered = columns["number"][given], ops.invoke[given], ops.complete[given]
        twice, below = given_twice(number), out_of_order(number, asked, answered)
        return findings(
            len(given),
            id_given_twice=Finding(
                count=len({int(number[late]) for _, late in twice}),
                examples=examples(_examples(shard, context, given, number, twice, "was given before")),
            ),
            id_out_of_order=Finding(
                count=len(below),
                examples=examples(
                    _examples(shard, context, given, number, below, "is below one that was given before")
                ),
            ),
        )

    def merge(self, left: Findings, right: Findings) -> Findings:
        """Add what two sources showed."""
        return merged(left, right)

    def held(
        self,
        summary: Findings | None,
        anomalies: dict[str, Anomaly],
        context: Context,  # noqa: ARG002 - every run is told alike
    ) -> Held:
        """How many ids were given."""
        order = "" if "id-out-of-order" in anomalies else " and in growing order"
        return Held(first=f"{counted(summary.examined if summary else 0, 'id')} given, each once{order}")

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        clean = "every id was given once, in growing order"
        return concluded(self.name, summary, context, noun="id", clean=clean)


def given_twice(number: Ints) -> list[tuple[int, int]]:
    """Pairs of positions with equal numbers, each with the one before it."""
    order = np.argsort(number, kind="stable")
    same = np.flatnonzero(number[order][1:] == number[order][:-1])
    return [(int(order[one]), int(order[one + 1])) for one in same]


def out_of_order(number: Ints, asked: Ints, answered: Ints) -> list[tuple[int, int]]:
    """Positions with a lower number than one that was answered before they were asked, and that one's, before them."""
    if not len(number):
        return []
    order = np.argsort(answered, kind="stable")
    ranked = number[order]
    highest = np.maximum.accumulate(ranked)
    first_of = np.maximum.accumulate(np.where(ranked == highest, np.arange(len(ranked)), 0))
    before = np.searchsorted(answered[order], asked, side="left") - 1
    low = np.flatnonzero((before >= 0) & (number < highest[before]))
    return [(int(order[first_of[before[one]]]), int(one)) for one in low]


def _examples(
    shard: QueueShard, context: Context, given: Ints, number: Ints, pairs: list[tuple[int, int]], what: str
) -> Iterator[Example]:
    """Each pair as two operations and a sentence."""
    for early, late in pairs:
        ops = (int(given[early]), int(given[late]))
        yield Example(
            sentence=f"{words_of(context.run).key} {shard.key}: id {number[late]} {what}",
            key=shard.key,
            at_ns=int(shard.ops.invoke[ops[1]]),
            ops=tuple(told(shard, context, op) for op in ops),
        )
