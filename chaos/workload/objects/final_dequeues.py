"""The final phase of queues without offsets: each is emptied, until nothing can come back any more.

A message that was on its way to a client which gave up comes back when the system notices. So a queue counts as empty
when it says so later than that may take, counted from the last thing that was not plainly empty.
"""

from collections.abc import Sequence
from typing import Any, Final

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.models.queues.total_queue import F, Taken
from chaos.workload.final import Ask, Asks, FinalSpec, Limits, Part, Steps, Wait, keys_of
from chaos.workload.objects.final_reads_of_objects import PAUSE_S, given_up_at

AT_ONCE: Final = 4
"""So many messages are asked for at once."""


class FinalDequeues:
    """Takes from every queue until it is empty for good."""

    name = "drain"
    what = "queues emptied"
    required = True
    after_s = 0.0
    at_once = True

    def __init__(self, spec: FinalSpec) -> None:
        self._spec = spec
        self._back_ns = int((spec.op_timeout_s + spec.promises.redelivered_within_s) * NS_PER_S)

    def parts(self) -> Sequence[Part]:
        """A part for each queue."""
        return keys_of(self._spec)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Take until the queue says that it is empty, so late that nothing can come back."""
        until_ns = given_up_at(limits, now_ns)
        due_ns, why = now_ns + self._back_ns, "messages still came"
        while True:
            heard = yield Asks((Ask(F.DEQUEUE, None, self._spec.op_timeout_s),) * AT_ONCE)
            empty = [done.type is Type.OK and done.result == Taken() for done in heard.answers]
            if all(empty) and heard.asked_ns > due_ns:
                return ""
            if not all(done.type is Type.OK for done in heard.answers):
                due_ns = heard.now_ns + self._back_ns
            why = next((done.error for done in heard.answers if done.error), why)
            if heard.now_ns >= until_ns:
                return why
            if any(empty) or not any(done.type is Type.OK for done in heard.answers):
                yield Wait(PAUSE_S)
