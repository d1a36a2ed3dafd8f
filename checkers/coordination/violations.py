"""What is wrong in one shard, as findings: kind by kind, with examples."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from chaos.core.op import Type
from chaos.core.verdict import Example
from checkers.anomalies.attribution import actor_of, time_of
from checkers.anomalies.findings import (
    Finding,
    Findings,
    describe_operation,
    examples,
    findings,
    node_name,
    seconds_text,
    spread_of,
)
from checkers.history.check_input import Context, QueueShard
from checkers.history.words import words_of


class Wrong(NamedTuple):
    """Something that is wrong.

    ``kind``: of anomaly. ``said``: what the node did that answered the last of the operations, as a verb with its
    object. ``ops``: those that show it, the one that was answered wrongly last. ``then``: how the sentence goes on
    behind who answered the first of them, and when; None: that is not told.
    """

    kind: str
    said: str
    ops: tuple[int, ...]
    then: str | None = None


class Opening(NamedTuple):
    """How sentences begin: of an operation that was ok, or known to have failed, and of one whose outcome is unknown.

    ``{who}`` is the node with its role and the fault, ``{at}`` the time, ``{place}`` the object.
    """

    answered: str = "at {at} {who}"
    asked: str = "{who} was asked at {at} and"


ANSWER: Final = Opening()


def findings_of(
    shard: QueueShard,
    context: Context,
    kinds: Sequence[str],
    wrong: Iterable[Wrong],
    examined: int,
    opening: Opening = ANSWER,
) -> Findings:
    """What is wrong as findings: how often each of these kinds, with examples; ``examined``: how much was looked at."""
    by_kind: dict[str, list[Wrong]] = {kind: [] for kind in kinds}
    for one in wrong:
        by_kind[one.kind].append(one)
    found = {
        kind.replace("-", "_"): Finding(
            count=len(own),
            examples=examples(examples_of(shard, context, own, opening)),
            spread=spread_of(shard, context, [one.ops[-1] for one in own]),
        )
        for kind, own in by_kind.items()
    }
    return findings(examined, **found)


def examples_of(
    shard: QueueShard, context: Context, wrong: Iterable[Wrong], opening: Opening = ANSWER
) -> Iterator[Example]:
    """Each as its operations, the one that was answered wrongly first, and a sentence; made when it is asked for."""
    for one in wrong:
        *others, guilty = one.ops
        asked = shard.ops.type[guilty] == Type.INFO
        at_ns = int((shard.ops.invoke if asked else shard.ops.complete)[guilty])
        who = actor_of(shard, context, guilty)
        words = {"at": seconds_text(context, at_ns), "who": who.subject, "place": place_of(shard, context)}
        begun = (opening.asked if asked else opening.answered).format(**words)
        end = "" if one.then is None else f" {_answer(shard, context, one.ops[0])}{one.then}"
        made = who.example(
            f"{begun} {one.said}{end}",
            key=shard.key,
            ops=tuple(describe_operation(shard, context, op) for op in (guilty, *others)),
        )
        yield msgspec.structs.replace(made, at_ns=int(shard.ops.invoke[guilty]))


def place_of(shard: QueueShard, context: Context) -> str:
    """``lock 0``: what an object is called."""
    return f"{words_of(context.run).key} {shard.key}"


def _answer(shard: QueueShard, context: Context, op: int) -> str:
    """``b2 at 1.1 s``: who answered an operation, and when."""
    return f"{node_name(context, int(shard.ops.node[op]))} at {time_of(shard, context, op)}"
