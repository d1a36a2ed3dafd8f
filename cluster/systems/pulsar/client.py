"""One logical client: a queue is a topic without partitions, an offset is a message's id as ``positions`` counts it.

A send is one message of the connection's producer, in no batch. A read is a reader of its own: it asks the broker for
the topic's last message, and is given what is from its beginning up to that one. A queue without offsets is the
topic's one Shared subscription.
"""

from functools import partial
from typing import Final

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send
from chaos.models.log.words import F, Record
from chaos.models.queues import total_queue
from chaos.models.queues.total_queue import STRANGE, Taken
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems._shared.link import Malformed
from cluster.systems.pulsar.brokers import Brokers, Way, topic_name
from cluster.systems.pulsar.consuming import Consumer, Consumers, Delivered
from cluster.systems.pulsar.positions import NOWHERE, MessageId, offset_of, place_of
from cluster.systems.pulsar.reading import Reader
from cluster.systems.pulsar.settings import BROKER
from cluster.systems.pulsar.web import Web

POLLED: Final = 64
"""A poll is given so many messages at most."""
_ALL: Final = 1 << 40
_DIGITS: Final = 18


class Broker:
    """The ways to a broker: by topic a connection that sends, one that sends by a name, and consumers.

    Reads make their own.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._web = Web(address)
        self._ways: dict[str, Way] = {}
        self._named: dict[str, Way] = {}
        self._consumers: dict[str, Consumers] = {}

    def way(self, topic: str) -> Way:
        """The connection that sends to a topic."""
        if topic not in self._ways:
            self._ways[topic] = Way(self.address, topic=topic)
        return self._ways[topic]

    def way_of(self, topic: str, producer: str) -> Way:
        """The connection that sends to a topic by a name; that of another name ends."""
        found = self._named.get(topic)
        if found is None or found.producer != producer:
            if found is not None:
                found.close()
            found = self._named[topic] = Way(self.address, topic=topic, producer=producer)
        return found

    def consumers(self, topic: str) -> Consumers:
        """The consumers of a topic."""
        if topic not in self._consumers:
            self._consumers[topic] = Consumers(partial(Consumer, self.address, topic, self._web))
        return self._consumers[topic]

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for way in (*self._ways.values(), *self._named.values()):
            way.close()
        for consumers in self._consumers.values():
            consumers.close()
        self._web.close()


class PulsarClient(RoutedClient[Broker]):
    """One logical client of Pulsar."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        links = {node.name: Broker(node.address) for node in view.of_role(BROKER)}
        groups = [[*links]] * view.keys
        super().__init__(view, number, clients, seed, links, Brokers(view), "the brokers", groups)
        self._mark = view.mark

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        broker, topic = self._links[node], topic_name(self._mark, op.key)
        if op.f is total_queue.F.ENQUEUE:
            await broker.way(topic).send(b"%d" % op.argument.value, deadline_ns)
        elif op.f is total_queue.F.DEQUEUE:

            def hear(message: Delivered | None) -> None:
                received.result = Taken() if message is None else Taken(value_in(message.body), message.again)

            await broker.consumers(topic).take(deadline_ns, hear)
        elif op.f is F.SEND:
            received.result = Placed(await self._send(op, broker, topic, deadline_ns))
        else:
            await self._read(op, broker.address, topic, deadline_ns, received)

    async def _send(self, op: Invocation, broker: Broker, topic: str, deadline_ns: int) -> int | None:
        """The offset; None where the broker has the message of this producer and number already."""
        send: Send = op.argument
        body = payload.encode(send.value, op.key, self._run, send.body_bytes)
        if not send.producer:
            return _offset(await broker.way(topic).send(body, deadline_ns))
        way = broker.way_of(topic, f"{self._mark}-{send.producer}")
        try:
            found = await way.send(body, deadline_ns, send.producer_sequence)
        except Indefinite:  # a broker takes no second producer of the name beside one that it still knows
            way.close()
            raise
        return None if found == NOWHERE else _offset(found)

    async def _read(self, op: Invocation, host: str, topic: str, deadline_ns: int, received: Received) -> None:
        """From an offset (a drain: the first) to the last message that the broker names; a poll some of that.

        Raises:
            Definite: the broker refused, or gave less than it had named.
        """
        begin = op.argument.offset if isinstance(op.argument, ReadFrom) else 0
        given = received.result = Given(next_offset=begin)
        async with Reader(host, topic, place_of(begin), deadline_ns) as reader:
            last = await reader.last()
            try:
                end = offset_of(last) + 1 if last.entry >= 0 else 0
                if op.f is not F.POLL:
                    given.min_offset, given.max_offset = 0, end
                if end <= begin:
                    return

                def note(where: MessageId, body: bytes) -> bool:
                    offset = offset_of(where)
                    given.records.append(Record(offset, payload.decode(body, op.key, self._run)))
                    given.next_offset = offset + 1
                    return offset + 1 >= end

                await reader.messages(POLLED if op.f is F.POLL else _ALL, note)
            except Malformed as error:
                raise Definite(f"malformed answer: {error}") from None


def value_in(body: bytes) -> int:
    """The value of a message; ``STRANGE`` for a body that no client sends. Pure."""
    return int(body) if body.isdigit() and len(body) <= _DIGITS else STRANGE


def _offset(where: MessageId) -> int:
    """The offset of a message that was taken. Raises Indefinite: it has none."""
    try:
        return offset_of(where)
    except Malformed as error:
        raise Indefinite(f"malformed answer: {error}") from None
