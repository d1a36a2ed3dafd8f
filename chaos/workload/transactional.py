"""The workload ``transactional``: as ``queue``, but half of the sends are half messages that a producer decides about.

What it decides is drawn from the seed: most are committed or rolled back at once, of some it says nothing
until it is asked, and of a few it never says anything. Producers answer questions until the end of the
final reads, which begin late enough for the system to have asked. The module is pure, as ``queue`` is.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.op import F, Invocation
from chaos.core.rand import stream
from chaos.core.transaction import Decision
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.queue import QueueWorkload

SHARES: Final[Mapping[Decision, float]] = {
    Decision.COMMIT: 0.70,
    Decision.ROLLBACK: 0.15,
    Decision.COMMIT_WHEN_ASKED: 0.08,
    Decision.ROLLBACK_WHEN_ASKED: 0.05,
    Decision.NEVER: 0.02,
}


class TransactionalWorkload(QueueWorkload):
    """Sends of which half are transactions: committed, rolled back, or decided when asked; reads as in queue."""

    name = "transactional"
    mix: Mapping[F, float] = {F.SEND: 0.5, F.TRANSACT: 0.5, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    needs = frozenset({F.SEND, F.TRANSACT, F.POLL, F.DRAIN})
    linger_s = 30.0

    def __init__(self, spec: LoadSpec) -> None:
        super().__init__(spec)
        self._decisions = stream(spec.seed, "decision")

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for this arrival; a TRANSACT's argument is what its producer decides."""
        op = super().invocation(arrival, process, now_ns)
        if op is None or arrival.f is not F.TRANSACT:
            return op
        decision = self._decisions.choices([*SHARES], [*SHARES.values()])[0]
        return msgspec.structs.replace(op, argument=int(decision))
