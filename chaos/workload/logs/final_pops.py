"""The last pops of a run: each queue is popped and acknowledged until nothing can come any more (SEMANTICS 20).

What a client let go, and what a pop without an answer took, comes again only when its time is over and the broker has
noticed; an empty answer before that says nothing. So the end is the first pop that comes back empty after all of that
must have come. Whether it was the end the checks decide: the history shows when each pop began.
"""

from collections.abc import Sequence
from typing import Any, Final

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Type
from chaos.models.log.operations import Ack, Pop, records_given
from chaos.models.log.words import F
from chaos.workload.final import GIVE_UP_S, Ask, Asks, FinalSpec, Heard, Limits, Part, Steps, Wait, keys_of

TIMEOUT_S: Final = 5.0
"""The deadline of one of these operations."""

PAUSE_S: Final = 0.5
"""After a pop that brought nothing."""

STILL_OUT: Final = "what was let go could still come"


def _acks(done: Completion) -> tuple[Ask, ...]:
    """An ack for each message that was popped."""
    return tuple(
        Ask(F.ACK, Ack(value=record.value, offset=record.offset), TIMEOUT_S)
        for record in records_given(done).records
        if record.value is not None
    )


class FinalPops:
    """Pops of every queue to its end.

    Args:
        spec: the queues, and how long after its time a message may take to come again.
        invisible_s: for how long nobody else is given what was popped.
    """

    name = "pops"
    what = "queues popped to their end"
    required = False
    after_s = 0.0
    at_once = True

    def __init__(self, spec: FinalSpec, invisible_s: float) -> None:
        self._spec = spec
        self._invisible_ns = int(invisible_s * NS_PER_S)
        self._again_ns = int((TIMEOUT_S + invisible_s + spec.promises.redelivered_within_s) * NS_PER_S)

    def parts(self) -> Sequence[Part]:
        """A part for each queue."""
        return keys_of(self._spec)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Pop and acknowledge."""
        early_ns = now_ns + int(GIVE_UP_S * NS_PER_S)
        until_ns = min(limits.until_ns, early_ns) if limits.keys_missing else limits.until_ns
        due_ns, why = now_ns + self._again_ns, STILL_OUT
        while now_ns < until_ns:
            heard: Heard = yield Asks((Ask(F.POP, Pop(invisible_ns=self._invisible_ns), TIMEOUT_S),))
            (done,), now_ns = heard.answers, heard.now_ns
            records = records_given(done).records
            if done.type is Type.OK and not records and heard.asked_ns > due_ns:
                return ""
            why, settled = done.error or why, True
            if acks := _acks(done):
                heard = yield Asks(acks)
                now_ns, settled = heard.now_ns, all(answer.type is Type.OK for answer in heard.answers)
            if done.type is Type.INFO or not settled:
                due_ns = now_ns + self._again_ns
            if not records:
                now_ns = (yield Wait(PAUSE_S)).now_ns
        return why
