"""The workload ``ordered``: every message belongs to a shard, and a shard's messages keep their order.

As ``queue``, but each client has several shards. A shard is a writer of its own, its key decides the queue of all
its messages, and it sends one after the other: the next only when the answer to the one before is there. So
whatever of a shard is out of order was put out of order by the system. A moment at which every shard of the client
waits for an answer is not an operation.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from chaos.basics.rand import stream
from chaos.core.op import Completion, Invocation
from chaos.models.log.checks import CHECKS
from chaos.models.log.operations import Send
from chaos.models.log.words import F
from chaos.workload.base import Arrival, Generator, LoadSpec
from chaos.workload.final import FinalPhase, FinalSpec
from chaos.workload.logs.final_reads_of_logs import read_whole
from chaos.workload.logs.log_clients import LogLoad
from chaos.workload.logs.replica_copies import ReplicaCopies
from chaos.workload.logs.unread_values import LogNote

SHARDS: Final = 16
"""Shards of one client: so many sends it has under way at most."""

MIX: Final[Mapping[F, float]] = {F.SEND: 1.0, F.POLL: 0.25, F.READ: 0.08, F.SLAVE_READ: 0.08}


class ShardedLoad:
    """Sends of shards, one at a time each, and the reads of ``queue``."""

    def __init__(self, spec: LoadSpec) -> None:
        self._spec = spec
        self._log = LogLoad(spec, MIX)
        self._free = {client: [*self.shards(client)] for client in range(spec.clients)}
        self._which = {client: stream(spec.seed, "which shard", client) for client in range(spec.clients)}

    @staticmethod
    def shards(client: int) -> range:
        """The shards of a client; their numbers are those of writers."""
        return range(client * SHARDS, (client + 1) * SHARDS)

    def queue_of(self, shard: int) -> int:
        """The queue that a shard's key leads to."""
        return stream(self._spec.seed, "queue of shard", shard).randrange(self._spec.keys)

    def arrivals(self, clients: list[int], rate: float) -> Iterator[Arrival]:
        """As in ``queue``; which queue a send goes to its shard decides."""
        return self._log.arrivals(clients, rate)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; a send is the next message of a shard that waits for nothing."""
        if arrival.f is not F.SEND:
            return self._log.invocation(arrival, process, now_ns)
        free = self._free[arrival.client]
        if not free:
            return None
        shard = free.pop(self._which[arrival.client].randrange(len(free)))
        send = Send(value=self._log.next_value(shard), body_bytes=self._spec.body_bytes)
        return self._log.op(arrival._replace(key=self.queue_of(shard)), process, now_ns, send)

    def learn(self, op: Invocation, done: Completion) -> None:
        """Whatever became of a send, its shard may go on."""
        self._log.learn(op, done)
        if isinstance(op.argument, Send):
            self._free[op.client].append(op.argument.value.writer)

    def notes(self) -> Mapping[int, LogNote]:
        """What the final reads must know of each queue."""
        return self._log.notes()


class OrderedWorkload:
    """As queue, with sends that keep to shards: a key decides the queue, one at a time."""

    name = "ordered"
    help = "as queue, with sends that keep to shards: a key decides the queue, one at a time"
    model = "log"
    mix = MIX
    keys = 4
    needs = frozenset({F.SEND, F.POLL, F.DRAIN})
    checks = CHECKS

    def generator(self, spec: LoadSpec) -> Generator:
        """Sends of shards."""
        return ShardedLoad(spec)

    def final(self, spec: FinalSpec) -> tuple[FinalPhase, ...]:
        """Every queue is read whole, then every replica's copy."""
        return read_whole(spec, self.mix), ReplicaCopies(spec)
