"""The workload ``ordered``: every message belongs to a shard, and a shard's messages keep their order.

As ``queue``, but each client has several shards. A shard is a writer of its own, its key decides the queue of all
its messages, and it sends one after the other: the next only when the answer to the one before is there. So
whatever of a shard is out of order was put out of order by the system. A moment at which every shard of the client
waits for an answer is not an operation.

The module is pure: it refuses to send, to wait and to look at a clock.
"""

from typing import Final

from chaos.core.op import Completion, F, Invocation, Value
from chaos.core.rand import stream
from chaos.workload.base import Arrival, LoadSpec
from chaos.workload.queue import QueueWorkload

SHARDS: Final = 16
"""Shards of one client: so many sends it has under way at most."""


class OrderedWorkload(QueueWorkload):
    """As queue, with sends that keep to shards: a key decides the queue, one at a time."""

    name = "ordered"

    def __init__(self, spec: LoadSpec) -> None:
        super().__init__(spec)
        self._free = {client: [*self.shards(client)] for client in range(spec.clients)}
        self._which = {client: stream(spec.seed, "which shard", client) for client in range(spec.clients)}

    @staticmethod
    def shards(client: int) -> range:
        """The shards of a client; their numbers are those of writers."""
        return range(client * SHARDS, (client + 1) * SHARDS)

    def queue_of(self, shard: int) -> int:
        """The queue that a shard's key leads to."""
        return stream(self._seed, "queue of shard", shard).randrange(self._queues)

    def invocation(self, arrival: Arrival, process: int, now_ns: int) -> Invocation | None:
        """What to ask for; a send is the next message of a shard that waits for nothing."""
        if arrival.f is not F.SEND:
            return super().invocation(arrival, process, now_ns)
        free = self._free[arrival.client]
        if not free:
            return None
        shard = free.pop(self._which[arrival.client].randrange(len(free)))
        value = Value(shard, self._sequence.get(shard, 0))
        self._sequence[shard] = value.sequence + 1
        return Invocation(
            process=process,
            f=F.SEND,
            key=self.queue_of(shard),
            value=value,
            deadline_ns=now_ns + self._timeout_ns,
            body_bytes=self._body_bytes,
        )

    def learn(self, client: int, op: Invocation, done: Completion) -> None:
        """Whatever became of a send, its shard may go on."""
        super().learn(client, op, done)
        if op.f is F.SEND and op.value is not None:
            self._free[client].append(op.value.writer)
