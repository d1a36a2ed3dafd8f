"""The workload ``delayed``: as ``queue``, but half of the sends say when they may be delivered at the earliest.

How long each of them waits is drawn from the seed. The final reads have to wait for the last of them, so
the workload says how long after the load that takes. The module is pure, as ``queue`` is.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.op import F, Invocation
from chaos.core.rand import stream
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.queue import QueueWorkload

SHORTEST_S: Final = 2.0
LONGEST_S: Final = 10.0
"""Longer than a send's deadline and than most elections, so that messages wait while the leader changes."""

SLACK_S: Final = 5.0
"""So long a message may be late before the final reads begin; what is later still is waited for there."""


class DelayedWorkload(QueueWorkload):
    """Sends of which half must not be delivered before their time; reads as in queue."""

    name = "delayed"
    mix: Mapping[F, float] = {F.SEND: 0.5, F.SCHEDULE: 0.5, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    needs = frozenset({F.SEND, F.SCHEDULE, F.POLL, F.DRAIN})
    linger_s = LONGEST_S + SLACK_S

    def __init__(self, spec: LoadSpec) -> None:
        super().__init__(spec)
        self._delays = stream(spec.seed, "delay")

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival; a SCHEDULE's argument is the instant before which nobody may be given it."""
        op = super().invocation(arrival, process, now_ns)
        if op is None or arrival.f is not F.SCHEDULE:
            return op
        delay_s = self._delays.uniform(SHORTEST_S, LONGEST_S)
        return msgspec.structs.replace(op, argument=now_ns + int(delay_s * NS_PER_S))
