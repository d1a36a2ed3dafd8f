"""The workload ``idempotent``: as ``queue``, but a send is attempted until it is answered.

Each client has a producer per queue, which numbers its messages from 0. The broker must take a number
once however often it arrives, so an attempt without an answer is simply made again. One send per
producer is under way; those that become due meanwhile wait for their turn within their own deadlines.
After a send of which nobody knows what became of it the producer is given up for one of a new name:
whether the old one's number was taken is not known either.

The module is pure: ``chaos.worker.idempotent_sends`` makes the attempts and keeps the turns.
"""

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, F, Invocation, Type
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.queue import QueueWorkload


class _Producer(msgspec.Struct):
    """The producer of one client and queue: how many were given up, and the number of the next message."""

    given_up: int = 0
    sequence: int = 0


class IdempotentWorkload(QueueWorkload):
    """As queue, with sends that are attempted until they are answered and must never be taken twice."""

    name = "idempotent"
    idempotent = True
    send_deadline_s = 15.0
    """Longer than most failovers take, so that attempts of one send reach the old and the new leader."""

    def __init__(self, spec: LoadSpec) -> None:
        super().__init__(spec)
        self._send_ns = int(max(self.send_deadline_s, spec.op_timeout_s) * NS_PER_S)
        self._producers: dict[tuple[int, int], _Producer] = {}

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; a send is attempted for longer than another operation."""
        op = super().invocation(arrival, process, now_ns)
        if op is None or arrival.f is not F.SEND:
            return op
        return msgspec.structs.replace(op, deadline_ns=now_ns + self._send_ns)

    def stamped(self, client: int, op: Invocation) -> Invocation:
        """The send under its producer's name and next number."""
        producer = self._producers.setdefault((client, op.key), _Producer())
        name = f"{client}.{op.key}.{producer.given_up}"
        return msgspec.structs.replace(op, producer=name, producer_sequence=producer.sequence)

    def learn(self, client: int, op: Invocation, done: Completion) -> None:
        """Count what was taken; a number that was certainly not taken is used again."""
        super().learn(client, op, done)
        producer = self._producers.get((client, op.key))
        if op.f is not F.SEND or op.producer_sequence < 0 or producer is None:
            return
        if done.type is Type.OK:
            producer.sequence += 1
        elif done.type is Type.INFO:
            producer.given_up, producer.sequence = producer.given_up + 1, 0
