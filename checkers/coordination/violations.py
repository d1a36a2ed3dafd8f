"""What is wrong in one shard, as findings: kind by kind, with examples."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from chaos.core.verdict import Example
from checkers.anomalies.attribution import blamed_example
from checkers.anomalies.findings import Finding, Findings, describe_operation, examples, findings, spread_of
from checkers.history.check_input import Context, QueueShard
from checkers.history.words import words_of


class Wrong(NamedTuple):
    """Something that is wrong: the kind of anomaly, a sentence, and the operations that show it, the last one last."""

    kind: str
    sentence: str
    ops: tuple[int, ...]


def findings_of(
    shard: QueueShard, context: Context, kinds: Sequence[str], wrong: Iterable[Wrong], examined: int
) -> Findings:
    """What is wrong as findings: how often each of these kinds, with examples; ``examined``: how much was looked at."""
    by_kind: dict[str, list[Wrong]] = {kind: [] for kind in kinds}
    for one in wrong:
        by_kind[one.kind].append(one)
    found = {
        kind.replace("-", "_"): Finding(
            count=len(own),
            examples=examples(examples_of(shard, context, own)),
            spread=spread_of(shard, context, [one.ops[-1] for one in own]),
        )
        for kind, own in by_kind.items()
    }
    return findings(examined, **found)


def examples_of(shard: QueueShard, context: Context, wrong: Iterable[Wrong]) -> Iterator[Example]:
    """Each as its operations, the one that was answered wrongly first, and a sentence; made when it is asked for."""
    for one in wrong:
        *others, guilty = one.ops
        yield blamed_example(
            shard,
            context,
            guilty,
            f"{words_of(context.run).key} {shard.key}: {one.sentence}",
            ops=tuple(describe_operation(shard, context, op) for op in (guilty, *others)),
        )
