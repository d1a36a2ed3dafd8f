"""One logical client: a register is a key, and so is each element of a set and each amount added to a counter.

A read of a register, and the first half of a compare-and-set, is a request for the last message of the key's subject.
NATS 2.9 has neither sets nor counters: an element, or an amount beside a number that nobody else has, is a key that is
written once, so an add is one request with one outcome. Whoever reads a set or a counter asks the bucket's leader which
keys there are, one request. It may be a leader that was deposed and does not know it yet. With ``client.confirmReads``
a key beside them is written first: the answer counts only if it comes from a server that has stored this write too.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from chaos.core.client import Definite, Received
from chaos.core.op import Invocation, Word
from chaos.models.coordination import kv, lease, lock, semaphore, unique_ids, watch
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.nats import buckets, streams
from cluster.systems.nats.expiring import Expiring
from cluster.systems.nats.jetstream import JetStream, Stored
from cluster.systems.nats.leases import Leases
from cluster.systems.nats.locks import Locks
from cluster.systems.nats.reads import last_words
from cluster.systems.nats.semaphores import Semaphores
from cluster.systems.nats.servers import Servers
from cluster.systems.nats.spaces import Spaces
from cluster.systems.nats.watches import Watches

_Perform = Callable[[JetStream, Invocation, int], Awaitable[Any]]
"""Do an operation at a server before its deadline."""

_KINDS: Final = {register.F: "registers", sets.F: "sets", counter.F: "counters", unique_ids.F: "ids"}


class NatsClient(RoutedClient[JetStream]):
    """One logical client of NATS."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        links = {node.name: JetStream(node.address) for node in view.nodes}
        super().__init__(view, number, clients, seed, links, Servers(view), "the servers")
        self._mark = view.mark
        self._buckets = buckets.number_of(view.settings)
        self._direct = view.settings["client.directGet"] == "true"
        self._confirm = view.settings["client.confirmReads"] == "true"
        self._added = 0
        self._watches = Watches(view.mark, view.settings)
        keys = Expiring(view.mark, view.settings)
        fencing = view.settings["client.fencing"] == "true"
        self._others: dict[type[Word], _Perform] = {
            lock.F: Locks(keys, streams.guarded(view.mark), fencing=fencing).perform,
            lease.F: Leases(keys).perform,
            semaphore.F: Semaphores(keys).perform,
            kv.F: Spaces(view.mark, view.settings).perform,
        }

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        if isinstance(op.f, watch.F):
            await self._watches.perform(self._links[node], op, deadline_ns, received)
            return
        if (other := self._others.get(type(op.f))) is not None:
            received.result = await other(self._links[node], op, deadline_ns)
            return
        server, bucket = self._links[node], buckets.bucket(self._mark, op.key % self._buckets)
        name = f"{_KINDS[type(op.f)]}.{op.key}"
        key = buckets.key_in(bucket, name)
        if op.f is register.F.READ:
            last = await self._last(server, bucket, key, deadline_ns)
            received.result = Found(None if last is None else number_in(last))
        elif op.f is register.F.WRITE:
            await server.publish(key, b"%d" % op.argument.value, deadline_ns)
        elif op.f is register.F.CAS:
            last = await self._last(server, bucket, key, deadline_ns)
            if last is None or number_in(last) != op.argument.expected:
                raise Definite("the comparison does not hold")
            await server.publish(key, b"%d" % op.argument.value, deadline_ns, expected=last.seq)
        elif op.f is sets.F.ADD:
            await server.publish(f"{key}.{op.argument.element}", b"", deadline_ns)
        elif op.f is counter.F.ADD:
            self._added += 1
            await server.publish(f"{key}.{op.process}-{self._added}.{op.argument.amount}", b"", deadline_ns)
        elif op.f is unique_ids.F.GENERATE:
            received.result = unique_ids.Id(await server.publish(key, b"", deadline_ns))
        else:
            numbers = await last_words(server, bucket, name, deadline_ns, confirm=self._confirm)
            counted = Found(sum(numbers) if numbers else None)
            received.result = sets.Elements(numbers) if op.f is sets.F.READ else counted

    async def _last(self, server: JetStream, bucket: str, key: str, deadline_ns: int) -> Stored | None:
        """The last message of a key."""
        stream = buckets.stream_of(bucket)
        return await (server.last_of_any if self._direct else server.last)(stream, key, deadline_ns)


def number_in(last: Stored) -> int:
    """The number that a key holds. Raises Definite if it holds something else."""
    if not last.data.removeprefix(b"-").isdigit():
        raise Definite(f"malformed value: {last.data[:20]!r}")
    return int(last.data)
