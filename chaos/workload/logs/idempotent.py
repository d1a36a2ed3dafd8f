"""The workload ``idempotent``: as ``queue``, but a send is attempted until it is answered.

Each client has a producer per queue, which numbers its messages from 0. The broker must take a number
once however often it arrives, so an attempt without an answer is simply made again. One send per
producer is under way; those that become due meanwhile wait for their turn within their own deadlines.
After a send of which nobody knows what became of it the producer is given up for one of a new name:
whether the old one's number was taken is not known either.
"""

from collections.abc import Iterator, Mapping

import msgspec

from chaos.core.client import Client, invoke_in_time
from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.checks import CHECKS
from chaos.models.log.operations import Send
from chaos.models.log.words import F
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.logs.final_reads_of_logs import read_whole
from chaos.workload.logs.idempotent_sends import ProducerQueue
from chaos.workload.logs.log_clients import LogLoad
from chaos.workload.logs.replica_copies import ReplicaCopies
from chaos.workload.logs.unread_values import LogNote


class _Producer(msgspec.Struct):
    """The producer of one client and queue: how many were given up, and the number of the next message."""

    given_up: int = 0
    sequence: int = 0


class IdempotentLoad:
    """Sends that are attempted again, one at a time per client and queue; reads as in ``queue``."""

    def __init__(self, spec: LoadSpec, mix: Mapping[F, float], send_s: float) -> None:
        self._log = LogLoad(spec, mix)
        self._given_up = spec.earlier.numbers
        self._send_ns = int(max(send_s, spec.op_timeout_s) * NS_PER_S)
        self._producers: dict[tuple[int, int], _Producer] = {}
        self._queue = ProducerQueue(self.stamped, self.learn)

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """As in ``queue``."""
        return self._log.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; a send is attempted for longer than another operation."""
        op = self._log.invocation(arrival, process, now_ns)
        if op is None or arrival.f is not F.SEND:
            return op
        return msgspec.structs.replace(op, deadline_ns=now_ns + self._send_ns)

    def stamped(self, op: Invocation) -> Invocation:
        """A send whose turn has come, under its producer's name and next number."""
        producer = self._producers.setdefault((op.client, op.key), _Producer(self._given_up))
        name = f"{op.client}.{op.key}.{producer.given_up}"
        send = msgspec.structs.replace(op.argument, producer=name, producer_sequence=producer.sequence)
        return msgspec.structs.replace(op, argument=send)

    async def perform(self, client: Client, op: Invocation) -> Completion:
        """A send waits for its turn and is attempted until it is answered."""
        if op.f is F.SEND:
            return await self._queue.send(client, op)
        done = await invoke_in_time(client, op)
        self.learn(op, done)
        return done

    def learn(self, op: Invocation, done: Completion) -> None:
        """Count what was taken; a number that was certainly not taken is used again."""
        self._log.learn(op, done)
        producer = self._producers.get((op.client, op.key))
        if not isinstance(op.argument, Send) or op.argument.producer_sequence < 0 or producer is None:
            return
        if done.type is Type.OK:
            producer.sequence += 1
        elif done.type is Type.INFO:
            producer.given_up, producer.sequence = producer.given_up + 1, 0

    def notes(self) -> Mapping[int, LogNote]:
        """What the final reads must know of each queue."""
        return self._log.notes()


class IdempotentWorkload:
    """As queue, with sends that are attempted until they are answered and must never be taken twice."""

    name = "idempotent"
    help = "as queue, with sends that are attempted until they are answered and must never be taken twice"
    model = "log"
    mix: Mapping[F, float] = {F.SEND: 1.0, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}
    keys = 4
    needs = frozenset({F.SEND, F.POLL, F.DRAIN})
    checks = CHECKS
    send_deadline_s = 15.0
    """Longer than most failovers take, so that attempts of one send reach the old and the new leader."""

    def generator(self, spec: LoadSpec) -> Generator:
        """Sends that are attempted again."""
        return IdempotentLoad(spec, self.mix, self.send_deadline_s)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every queue is read whole, then every replica's copy."""
        return read_whole(spec, self.mix), ReplicaCopies(spec)
