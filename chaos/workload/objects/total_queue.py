"""The workload ``total-queue``: clients enqueue messages that nobody sent before, and take messages from queues.

Takes come a little more often than messages, so that queues stay short; what is left after the load is taken at last.
"""

from collections.abc import Mapping
from typing import Final

from chaos.models.queues.total_queue import MODEL, F, Message
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.objects.final_dequeues import FinalDequeues
from chaos.workload.objects.object_clients import ObjectLoad

CHANGES: Final = frozenset({F.ENQUEUE})


class TotalQueueWorkload:
    """Messages with confirms, taken and acknowledged by other clients, then every queue is emptied."""

    name = "total-queue"
    help = "messages with confirms, taken and acknowledged by other clients, then every queue is emptied"
    model = MODEL
    mix: Mapping[F, float] = {F.ENQUEUE: 1.0, F.DEQUEUE: 1.1}
    keys = 6
    needs = frozenset(F)
    checks = ("assumptions", "total-queue", "replica-data", "recovery", "progress", "roles", "rto")

    def generator(self, spec: LoadSpec) -> Generator:
        """An open loop; a message is its client's next number, so that no two are the same."""
        sent = [spec.earlier.numbers] * spec.clients

        def message(arrival: Arrival) -> Message:
            number = sent[arrival.client]
            sent[arrival.client] += 1
            return Message(value=number * spec.clients + arrival.client)

        return ObjectLoad(spec, self.mix, CHANGES, {F.ENQUEUE: message})

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every queue is emptied."""
        return (FinalDequeues(spec),)
