"""One logical client: a queue is a topic without partitions, an offset is a message's id as ``positions`` counts it.

A send is one message of the connection's producer, in no batch. A read is a reader of its own: it asks the broker for
the topic's last message, and is given what is from its beginning up to that one.
"""

from typing import Final

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.log import payload
from chaos.models.log.operations import Given, Placed, ReadFrom, Send
from chaos.models.log.words import F, Record
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems._shared.link import Malformed
from cluster.systems.pulsar.brokers import Brokers, Way, topic_name
from cluster.systems.pulsar.positions import MessageId, offset_of, place_of
from cluster.systems.pulsar.reading import Reader
from cluster.systems.pulsar.settings import BROKER

POLLED: Final = 64
"""A poll is given so many messages at most."""
_ALL: Final = 1 << 40


class Broker:
    """The ways to a broker: one connection for each topic that is sent to. Reads make their own."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._ways: dict[str, Way] = {}

    def way(self, topic: str) -> Way:
        """The connection that sends to a topic."""
        if topic not in self._ways:
            self._ways[topic] = Way(self.address, topic=topic)
        return self._ways[topic]

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for way in self._ways.values():
            way.close()


class PulsarClient(RoutedClient[Broker]):
    """One logical client of Pulsar."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        links = {node.name: Broker(node.address) for node in view.of_role(BROKER)}
        groups = [[*links]] * view.keys
        super().__init__(view, number, clients, seed, links, Brokers(view), "the brokers", groups)
        self._mark = view.mark

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        topic = topic_name(self._mark, op.key)
        if op.f is F.SEND:
            await self._send(op, self._links[node].way(topic), deadline_ns, received)
        else:
            await self._read(op, self._links[node].address, topic, deadline_ns, received)

    async def _send(self, op: Invocation, way: Way, deadline_ns: int, received: Received) -> None:
        send: Send = op.argument
        body = payload.encode(send.value, op.key, self._run, send.body_bytes)
        found = await way.send(body, deadline_ns)
        try:
            received.result = Placed(offset_of(found))
        except Malformed as error:
            raise Indefinite(f"malformed answer: {error}") from None

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
