"""One logical client: a register is a key, and so is each element of a set and each amount added to a counter.

A read of a register, and the first half of a compare-and-set, is a request for the last message of the key's subject.
NATS 2.9 has neither sets nor counters: an element, or an amount beside a number that nobody else has, is a key that is
written once, so an add is one request with one outcome. Whoever reads a set or a counter asks the bucket's leader which
keys there are, one request. It may be a leader that was deposed and does not know it yet. With ``client.confirmReads``
a key beside them is written first: the answer counts only if it comes from a server that has stored this write too.
"""

from typing import Final

from chaos.core.client import Definite, Received
from chaos.core.op import Invocation
from chaos.models.coordination import unique_ids
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.nats import buckets
from cluster.systems.nats.jetstream import JetStream, Stored
from cluster.systems.nats.servers import Servers

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

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
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
            numbers = await self._numbers(server, bucket, name, deadline_ns)
            counted = Found(sum(numbers) if numbers else None)
            received.result = sets.Elements(numbers) if op.f is sets.F.READ else counted

    async def _last(self, server: JetStream, bucket: str, key: str, deadline_ns: int) -> Stored | None:
        """The last message of a key."""
        stream = buckets.stream_of(bucket)
        return await (server.last_of_any if self._direct else server.last)(stream, key, deadline_ns)

    async def _numbers(self, server: JetStream, bucket: str, name: str, deadline_ns: int) -> list[int]:
        """The last words of all keys below a name."""
        written = 0
        if self._confirm:
            written = await server.publish(buckets.key_in(bucket, f"seen.{name}"), b"", deadline_ns)
        pattern = buckets.key_in(bucket, f"{name}.>")
        state = (await server.info(buckets.stream_of(bucket), pattern, deadline_ns)).state
        if state.last_seq < written:
            raise Definite(f"the answer is of message {state.last_seq}, and {written} was stored before")
        return [last_word(subject) for subject in state.subjects]


def number_in(last: Stored) -> int:
    """The number that a key holds. Raises Definite if it holds something else."""
    if not last.data.removeprefix(b"-").isdigit():
        raise Definite(f"malformed value: {last.data[:20]!r}")
    return int(last.data)


def last_word(subject: str) -> int:
    """The number at the end of a subject. Pure. Raises Definite if there is none."""
    word = subject.rpartition(".")[2]
    if not word.removeprefix("-").isdecimal():
        raise Definite(f"malformed key: {subject[-40:]!r}")
    return int(word)
