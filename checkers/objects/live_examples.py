"""What a model found in one key of a live run, as results have it: who answered, under which fault, and when."""

from collections.abc import Sequence
from typing import Any

from chaos.core.op import Type
from chaos.core.verdict import Anomaly, Example
from checkers.anomalies.attribution import blamed_example
from checkers.anomalies.findings import describe_operation
from checkers.history.check_input import Context, QueueShard
from checkers.objects.calls import Call
from checkers.objects.finding import Answer, call_text, show


def anomalies_of(shard: QueueShard, context: Context, answer: Answer) -> dict[str, Anomaly]:
    """The anomalies of one key. The numbers of its calls are their rows."""
    return {
        name: Anomaly(
            count=one.count,
            allowed=one.allowed,
            examples=tuple(
                _example(shard, context, name, sentence, calls, () if place else one.order)
                for place, (sentence, calls) in enumerate(one.examples)
            ),
        )
        for name, one in answer.found.items()
    }


def _example(
    shard: QueueShard, context: Context, name: str, sentence: str, calls: Sequence[Call], order: tuple[int, ...]
) -> Example:
    said = f"key {show(shard.key)}: {sentence}"
    if not calls:
        return Example(sentence=said, key=shard.key)
    blamed = blamed_call(name, calls)
    return blamed_example(
        shard,
        context,
        blamed.number,
        said,
        what="" if _names_first(sentence, blamed) else call_text(blamed),
        later=name == "lost-write",
        ops=tuple(_row(shard, context, call) for call in (blamed, *(one for one in calls if one is not blamed))),
        order=order,
    )


def _names_first(sentence: str, call: Call) -> bool:
    """Whether a sentence names a call before any other."""
    named = f"(op {call.number}, "
    return sentence.startswith(call_text(call)) or (
        named in sentence and sentence.index(named) == sentence.index("(op ")
    )


def blamed_call(name: str, calls: Sequence[Call]) -> Call:
    """The call of an occurrence whose answer was wrong or did not hold: the first, as far as models name it so.

    A model of sets names the element's addition first. Of a stale read it is the last read that missed the element; of
    a loss whoever was told first that the element is there.
    """
    first, others = calls[0], calls[1:]
    if name == "stale-read":
        missed = [one for one in others if one.output is not None and first.argument not in one.output]
        return missed[-1] if missed else first
    if name == "lost-write" and first.outcome is not Type.OK:
        return next((one for one in others if one.outcome is Type.OK), first)
    return first


def _row(shard: QueueShard, context: Context, call: Call) -> dict[str, Any]:
    """A call as examples show it; ``op`` is what an order names it by."""
    own = {"argument": call.argument, "output": call.output}
    return {"op": call.number, **describe_operation(shard, context, call.number), **own}
