"""The check ``distinct-ids``: no id of a source is given twice, and ids grow with real time (semantics.md, 31).

Both are decided in n log n: equal numbers are neighbours once they are sorted, and the highest id that was answered
before an instant is a running maximum over the answers in order of time.
"""

import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, Example
from chaos.models.coordination.unique_ids import MODEL
from chaos.models.objects.answers import TOLD
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Finding, Findings, examples, findings
from checkers.anomalies.findings_check import OfOneModel
from checkers.coordination.holds import Pairs
from checkers.coordination.violations import Wrong, examples_of, place_of
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints


class DistinctIdsCheck(OfOneModel):
    """Looks at the ids of each source."""

    name = "distinct-ids"
    help = "no id of a source is given twice, and none is lower than one before it"
    anomalies = kinds_named("id-given-twice", "id-out-of-order")
    model = MODEL
    noun = "id"
    clean = "every id was given once, in growing order"
    kept = "given, each once and in growing order"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one source. Only an ok answer gave an id: whoever heard anything else does not use one."""
        ops, columns = shard.ops, shard.operations
        given = np.flatnonzero((ops.type == Type.OK) & (columns["answer"] == TOLD))
        number, asked, answered = columns["number"][given], ops.invoke[given], ops.complete[given]
        twice, below = given_twice(number), out_of_order(number, asked, answered)

        def shown(kind: str, pairs: Pairs, what: str) -> tuple[Example, ...]:
            place = place_of(shard, context)
            wrong = (
                Wrong(
                    kind,
                    f"gave id {number[late]} of {place}, {what.format(number[early])}",
                    (int(given[early]), int(given[late])),
                    "",
                )
                for early, late in pairs
            )
            return examples(examples_of(shard, context, wrong))

        return findings(
            len(given),
            id_given_twice=Finding(
                count=len({int(number[late]) for _, late in twice}),
                examples=shown("id-given-twice", twice, "which was also given by"),
            ),
            id_out_of_order=Finding(
                count=len(below),
                examples=shown("id-out-of-order", below, "which is below id {}, given by"),
            ),
        )

    def kept_beside(self, anomalies: dict[str, Anomaly]) -> str:
        """Growing order is left out where ids may be out of order."""
        return "given, each once" if "id-out-of-order" in anomalies else self.kept


def given_twice(number: Ints) -> Pairs:
    """Pairs of positions with equal numbers, each with the one before it."""
    order = np.argsort(number, kind="stable")
    same = np.flatnonzero(number[order][1:] == number[order][:-1])
    return [(int(order[one]), int(order[one + 1])) for one in same]


def out_of_order(number: Ints, asked: Ints, answered: Ints) -> Pairs:
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
