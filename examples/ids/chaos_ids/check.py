"""The check ``unique-ids``: no id is given twice, and none is lower than one that was given before it was asked for."""

import numpy as np

from chaos.core.anomaly_kind import AnomalyKind
from chaos.core.op import Type
from chaos.core.verdict import Example
from checkers.anomalies.findings import Finding, Findings, describe_operation, findings
from checkers.anomalies.findings_check import FindingsCheck
from checkers.history.check_input import Context, QueueShard

DUPLICATE = AnomalyKind(
    name="duplicate-id",
    one="id given twice",
    many="ids given twice",
    meaning="two operations were given the same id",
    expected="each id is given once",
    strength=100_000,
    rule="examples/ids",
)
BACKWARDS = AnomalyKind(
    name="id-backwards",
    one="id lower than an earlier one",
    many="ids lower than an earlier one",
    meaning="an id is lower than one that was given before it was asked for",
    expected="ids grow",
    strength=99_900,
    rule="examples/ids",
)


class UniqueIds(FindingsCheck):
    """Looks at the ids of each source."""

    name = "unique-ids"
    help = "no id of a source is given twice, and ids grow"
    anomalies = (DUPLICATE, BACKWARDS)
    noun = "id"
    clean = "every id was given once, in growing order"

    def applies(self, context: Context) -> str | None:
        """To runs on ids."""
        return None if context.run.model == "ids" else f"it is a run of the model {context.run.model}"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one source: columns of all its operations, in the order in which they were asked."""
        ops = shard.ops
        given = np.flatnonzero(ops.type == Type.OK)
        number, asked, answered = shard.operations["number"][given], ops.invoke[given], ops.complete[given]
        values, first, counts = np.unique(number, return_index=True, return_counts=True)
        twice = first[counts > 1]

        by_answer = np.argsort(answered)
        highest = np.maximum.accumulate(number[by_answer])
        earlier = np.searchsorted(answered[by_answer], asked)
        before = np.where(earlier > 0, highest[earlier - 1], -1) if len(highest) else number
        lower = np.flatnonzero(number < before)

        def found(which: np.ndarray, sentence: str) -> Finding:
            shown = [
                Example(
                    sentence=f"source {shard.key}: {sentence.format(number[one])}",
                    key=shard.key,
                    ops=(describe_operation(shard, context, int(given[one])),),
                )
                for one in which[:3]
            ]
            return Finding(count=len(which), examples=tuple(shown))

        return findings(
            len(values),
            duplicate_id=found(twice, "id {} was given more than once"),
            id_backwards=found(lower, "id {} was given after a higher one"),
        )
