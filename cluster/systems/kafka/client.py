"""One logical client: what it asks of brokers for each operation on a log whose queues are partitions.

A strong read asks the leader for its last offset and epoch, and reads on to it from the leader of that epoch alone. A
slave read and a look at a replica's copy show what the replica knows to be replicated.
"""

import time
from typing import Final

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import now_ns
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send, Transact
from chaos.models.log.words import STRONG_READS, F, Record
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems._shared.link import Malformed
from cluster.systems.kafka import outcomes, requests
from cluster.systems.kafka import settings as settings_of
from cluster.systems.kafka.group import GROUP_OPERATIONS, Group
from cluster.systems.kafka.records import ANONYMOUS, Producer, batch, batches, without_aborted
from cluster.systems.kafka.requests import ALL, ANY_EPOCH, CONSUMER, DEBUGGER, EARLIEST, LATEST, Offset, Pulled
from cluster.systems.kafka.servers import Broker, Brokers, Way, replicas_of
from cluster.systems.kafka.transactions import Transactions
from cluster.systems.kafka.wire import Reader

POLL_BYTES: Final = 16 << 10
READ_BYTES: Final = 1 << 20
_NS_PER_MS: Final = 1_000_000
_ACKS: Final = {"0": 0, "1": 1, "all": ALL}


class KafkaClient(RoutedClient[Broker]):
    """One logical client of Kafka."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        source = Brokers(view)
        groups = [replicas_of([*source.brokers], key) for key in range(view.keys)]
        super().__init__(view, number, clients, seed, source.brokers, source, "the brokers", groups)
        self._topic = view.mark
        self._acks = _ACKS[view.settings["client.acks"]]
        self._producers: dict[str, Producer] = {}
        self._group = Group(view, source, number)
        self._transactions = Transactions(view, source, number)
        committed = view.settings["client.isolation"] == settings_of.COMMITTED
        self._isolation = requests.COMMITTED if committed else requests.UNCOMMITTED

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        if op.f is F.SEND:
            await self._send(op, node, deadline_ns, received)
            return
        if op.f is F.TRANSACT:
            await self._transact(op, node, deadline_ns)
            return
        if op.f in GROUP_OPERATIONS:
            await self._group.perform(op, node, deadline_ns, received)
            return
        way = self._links[node].way("read", op.key)
        try:
            if op.f in STRONG_READS:
                await self._strong_read(way, op, deadline_ns, received)
            elif op.f is F.REPLICA:
                await self._copy(way, op, deadline_ns, received)
            else:
                await self._weak_read(way, op, deadline_ns, received)
        except Malformed as error:
            raise Definite(f"malformed answer: {error}") from None

    async def _node(self, op: Invocation, deadline_ns: int) -> str:
        """Where the operation goes. What is about the group goes to its coordinator, from pinned clients too."""
        if op.f in GROUP_OPERATIONS:
            return await self._group.coordinator(deadline_ns)
        return await super()._node(op, deadline_ns)

    async def _send(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        send: Send = op.argument
        body = payload.encode(send.value, op.key, self._run, send.body_bytes)
        producer = await self._producer(send, node, deadline_ns) if send.producer else ANONYMOUS
        content = batch(body, time.time_ns() // _NS_PER_MS, producer)
        timeout_ms = max(1, (deadline_ns - now_ns()) // _NS_PER_MS)
        request = requests.produce(self._topic, op.key, content, acks=self._acks, timeout_ms=timeout_ms)
        way = self._links[node].way("send", op.key)
        if self._acks == 0:
            await way.tell(request, deadline_ns)
            return
        note_stored(await way.ask(request, deadline_ns), received)

    async def _transact(self, op: Invocation, node: str, deadline_ns: int) -> None:
        """Send in a transaction and end it. The end names no offset."""
        transact: Transact = op.argument
        body = payload.encode(transact.value, op.key, self._run, transact.body_bytes)

        async def send(name: str, producer: Producer) -> None:
            content = batch(body, time.time_ns() // _NS_PER_MS, producer)
            timeout_ms = max(1, (deadline_ns - now_ns()) // _NS_PER_MS)
            request = requests.produce(self._topic, op.key, content, acks=ALL, timeout_ms=timeout_ms, transaction=name)
            note_stored(await self._links[node].way("send", op.key).ask(request, deadline_ns), Received())

        await self._transactions.perform(op.key, transact.decision, send, deadline_ns)

    async def _producer(self, send: Send, node: str, deadline_ns: int) -> Producer:
        """The producer by the workload's name, which any broker numbers when it is first asked for.

        Raises:
            Definite: it has no number yet, so nothing was sent.
        """
        known = self._producers.get(send.producer)
        if known is None:
            try:
                reader = await self._links[node].way("producer").ask(requests.init_producer(), deadline_ns)
                error, known = requests.producer_of(reader)
            except (Indefinite, Malformed) as problem:
                raise Definite(f"no number for the producer: {problem}") from None
            if error:
                raise Definite(f"no number for the producer: {outcomes.name_of(error)}")
            self._producers[send.producer] = known
        return known._replace(sequence=send.producer_sequence)

    async def refresh(self) -> None:
        """Drop every connection, the route and who coordinates the group."""
        self._group.forget()
        await super().refresh()

    async def _weak_read(self, way: Way, op: Invocation, deadline_ns: int, received: Received) -> None:
        read: ReadFrom = op.argument
        given = received.result = Given()
        answer = await self._pull(
            way, op.key, read.offset, deadline_ns, given, wait_ms=read.wait_ms, most_bytes=POLL_BYTES
        )
        given.min_offset, given.max_offset = max(0, answer.log_start), self._shown(answer)

    async def _strong_read(self, way: Way, op: Invocation, deadline_ns: int, received: Received) -> None:
        """From an offset (a drain: the first) to the last that the leader names before it is read.

        A new leader does not name it before it has what its predecessor may have acknowledged.
        """
        given = received.result = Given()
        last = await self._offset(way, op.key, LATEST, deadline_ns)
        given.max_offset = last.offset
        if isinstance(op.argument, ReadFrom):
            given.next_offset = op.argument.offset
        else:
            given.next_offset = (await self._offset(way, op.key, EARLIEST, deadline_ns)).offset
            given.min_offset = given.next_offset
        await self._pages(way, op.key, last.epoch, last.offset, deadline_ns, given)

    async def _copy(self, way: Way, op: Invocation, deadline_ns: int, received: Received) -> None:
        """What a replica shows of its own copy: from its first offset to what it knows to be replicated."""
        given = received.result = Given()
        given.min_offset = given.next_offset = (await self._offset(way, op.key, EARLIEST, deadline_ns, DEBUGGER)).offset
        at = given.next_offset
        given.max_offset = last = self._shown(await self._pull(way, op.key, at, deadline_ns, given))
        await self._pages(way, op.key, ANY_EPOCH, last, deadline_ns, given)

    async def _pages(self, way: Way, key: int, epoch: int, end: int, deadline_ns: int, given: Given) -> None:
        """Read on from where ``given`` ends. Raises Definite where it gets no further, Indefinite or Malformed."""
        while (at := given.next_offset or 0) < end:
            answer = await self._pull(way, key, at, deadline_ns, given, epoch=epoch)
            if given.min_offset is None:
                given.min_offset = max(0, answer.log_start)
            if (given.next_offset or 0) <= at:
                raise Definite(f"read stopped below the last offset, at {at} of {end}")

    async def _pull(
        self,
        way: Way,
        key: int,
        offset: int,
        deadline_ns: int,
        given: Given,
        *,
        epoch: int = ANY_EPOCH,
        wait_ms: int = 0,
        most_bytes: int = READ_BYTES,
    ) -> Pulled:
        """One fetch, whose records are added to what was given.

        Raises:
            Definite: the broker refused. Indefinite: no answer.
            Malformed: the answer is none; the records before the damage are lost with it.
        """
        request = requests.fetch(
            self._topic,
            key,
            offset,
            epoch=epoch,
            isolation=self._isolation,
            wait_ms=wait_ms,
            most_bytes=most_bytes,
        )
        answer = requests.read_pulled(await way.ask(request, deadline_ns))
        if answer.error:
            raise Definite(outcomes.name_of(answer.error))
        found = batches(answer.data, offset)
        for record in without_aborted(found, answer.aborted):
            given.records.append(Record(record.offset, payload.decode(record.body, key, self._run)))
        given.next_offset = offset if found.next_offset is None else found.next_offset
        return answer

    def _shown(self, answer: Pulled) -> int:
        """The offset up to which the broker shows anything; in ``read_committed`` where an open transaction begins."""
        return answer.high_watermark if self._isolation == requests.UNCOMMITTED else answer.stable

    async def _offset(self, way: Way, key: int, when: int, deadline_ns: int, who: int = CONSUMER) -> Offset:
        """The first or last offset of a partition. Raises Definite, Indefinite or Malformed."""
        request = requests.list_offsets(self._topic, [key], when, who=who, isolation=self._isolation)
        reader = await way.ask(request, deadline_ns)
        answer = requests.offsets_of(reader).get(key)
        if answer is None:
            raise Malformed("offsets of another partition")
        if answer.error:
            raise Definite(outcomes.name_of(answer.error))
        return answer


def note_stored(reader: Reader, received: Received) -> None:
    """Note the offset in the answer to a send; returns if the send is ok.

    Raises:
        Definite: it was certainly not appended. Indefinite: nobody knows.
    """
    try:
        answer = requests.read_stored(reader)
    except Malformed as error:
        raise Indefinite(f"malformed answer: {error}") from None
    received.result = Placed(None if answer.offset < 0 else answer.offset)
    if answer.error:
        raise outcomes.of_send(answer.error, answer.offset)
    if answer.offset < 0:
        raise Indefinite("acknowledged without an offset")
