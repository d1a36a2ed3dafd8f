"""The workload ``transactional``: as ``queue``, but half of the sends are half messages that a producer decides about.

What it decides is drawn from the seed: most are committed or rolled back at once, of some it says nothing
until it is asked, and of a few it never says anything. Producers answer questions until the end of the
final reads, which begin late enough for the system to have asked.
"""

from collections.abc import Mapping
from typing import Final, Literal

from chaos.basics.rand import stream
from chaos.models.log.checks import CHECKS
from chaos.models.log.operations import Transact
from chaos.models.log.transaction import Decision
from chaos.models.log.words import F, Value
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.logs.final_reads_of_logs import read_whole
from chaos.workload.logs.log_clients import LogLoad
from chaos.workload.logs.replica_copies import ReplicaCopies

SHARES: Final[Mapping[Decision, float]] = {
    Decision.COMMIT: 0.70,
    Decision.ROLLBACK: 0.15,
    Decision.COMMIT_WHEN_ASKED: 0.08,
    Decision.ROLLBACK_WHEN_ASKED: 0.05,
    Decision.NEVER: 0.02,
}
LINGER_S: Final = 30.0
"""So long after the load the system may still ask producers."""


class TransactionalWorkload:
    """Sends of which half are transactions: committed, rolled back, or decided when asked; reads as in queue."""

    name = "transactional"
    help = "sends of which half are transactions: committed, rolled back, or decided when asked; reads as in queue"
    model = "log"
    mix: Mapping[F, float] = {F.SEND: 0.5, F.TRANSACT: 0.5, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    keys = 4
    needs = frozenset({F.SEND, F.TRANSACT, F.POLL, F.DRAIN})
    checks = CHECKS
    lives_to_the_end: Literal[True] = True

    def generator(self, spec: LoadSpec) -> Generator:
        """As in queue; a transaction has what its producer decides."""
        decisions = stream(spec.seed, "decision")

        def transact(_arrival: Arrival, value: Value, _now_ns: int) -> Transact:
            decision = decisions.choices([*SHARES], [*SHARES.values()])[0]
            return Transact(value=value, body_bytes=spec.body_bytes, decision=decision)

        return LogLoad(spec, self.mix, {F.TRANSACT: transact})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Once the system must have asked, every queue is read whole, then every replica's copy."""
        return read_whole(spec, self.mix, LINGER_S), ReplicaCopies(spec)
