"""The workload ``delayed``: as ``queue``, but half of the sends say when they may be delivered at the earliest.

How long each of them waits is drawn from the seed. The final reads have to wait for the last of them.
"""

from collections.abc import Mapping
from typing import Final, Literal

from chaos.basics.rand import stream
from chaos.core.clock import NS_PER_S
from chaos.models.log.checks import CHECKS
from chaos.models.log.operations import Schedule
from chaos.models.log.words import F, Value
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.logs.final_reads_of_logs import read_whole
from chaos.workload.logs.log_clients import LogLoad
from chaos.workload.logs.replica_copies import ReplicaCopies

SHORTEST_S: Final = 2.0
LONGEST_S: Final = 10.0
"""Longer than a send's deadline and than most elections, so that messages wait while the leader changes."""

SLACK_S: Final = 5.0
"""So long a message may be late before the final reads begin; what is later still is waited for there."""


class DelayedWorkload:
    """Sends of which half must not be delivered before their time; reads as in queue."""

    name = "delayed"
    help = "sends of which half must not be delivered before their time; reads as in queue"
    model = "log"
    mix: Mapping[F, float] = {F.SEND: 0.5, F.SCHEDULE: 0.5, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    keys = 4
    needs = frozenset({F.SEND, F.SCHEDULE, F.POLL, F.DRAIN})
    checks = CHECKS
    lives_to_the_end: Literal[True] = True
    judged_by_clocks: Literal[True] = True

    def generator(self, spec: LoadSpec) -> Generator:
        """As in queue; a scheduled send has the instant before which nobody may be given it."""
        delays = stream(spec.seed, "delay")

        def schedule(_: Arrival, value: Value, now_ns: int) -> Schedule:
            not_before_ns = now_ns + int(delays.uniform(SHORTEST_S, LONGEST_S) * NS_PER_S)
            return Schedule(value=value, body_bytes=spec.body_bytes, not_before_ns=not_before_ns)

        return LogLoad(spec, self.mix, {F.SCHEDULE: schedule})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Once the last message must have come, every queue is read whole, then every replica's copy."""
        return read_whole(spec, self.mix, LONGEST_S + SLACK_S), ReplicaCopies(spec)
