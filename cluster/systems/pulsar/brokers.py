"""The ways to a broker: to send and to ask who owns a topic; and the route that brokers tell.

A connection that sends belongs to one topic: it is greeted, and gets its producer, before anything is sent on it. So
whatever goes wrong until then is certain.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import ns_from_now
from cluster.system import ClusterView
from cluster.systems._shared.link import NO_ANSWER, Connection, Link, Malformed
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.outcomes import of_send
from cluster.systems.pulsar.positions import MessageId
from cluster.systems.pulsar.settings import BROKER, BROKER_PORT, full_name
from cluster.systems.pulsar.wire import Command, Lookup, Request, Wire

GREETED_S: Final = 2.0
"""A broker that takes longer to greet a connection, or to give it a producer, gives it none."""
_HOPS: Final = 4
"""A broker names the one that decides, that one the one that it chose; once more each if that changed meanwhile."""
_NS_PER_MS: Final = 1_000_000


def topic_name(mark: str, key: int) -> str:
    """The topic of a queue, without its namespace."""
    return f"{mark}-{key}"


class Way(Link[Request, Command]):
    """A connection to a broker, made again when it broke.

    Args:
        host: the broker's address.
        port: the broker's.
        topic: what it sends to; empty: it does not send.
        producer: by which name; empty: by one that the broker gives.
    """

    def __init__(self, host: str, port: int = BROKER_PORT, topic: str = "", producer: str = "") -> None:
        super().__init__(host, port, Wire)
        self.producer = producer
        self._hello = (wire.HELLO, *([wire.producer(full_name(topic), producer)] if topic else []))

    async def _dial(self) -> Connection[Request, Command]:
        """Connect, be greeted, and become a producer.

        Raises:
            Definite: any of it failed.
        """
        connection = await super()._dial()
        try:
            deadline_ns = ns_from_now(GREETED_S)
            for request in self._hello:
                _require(await connection.ask(request, deadline_ns))
        except (Definite, Indefinite, Malformed) as error:
            connection.close()
            text = f"nothing in {GREETED_S:g} s" if str(error) == NO_ANSWER else str(error)
            raise Definite(f"no {'producer' if len(self._hello) > 1 else 'greeting'}: {text}") from None
        except asyncio.CancelledError:
            connection.close()
            raise
        return connection

    async def send(self, body: bytes, deadline_ns: int, sequence: int = -1) -> MessageId:
        """Send a message; its id, which is in ledger -1 where the broker says that it has this one already.

        Args:
            body: of the message.
            deadline_ns: of the answer.
            sequence: which of the producer's messages it is; -1: another one.

        Raises:
            Definite: it was certainly not written. Indefinite: nobody knows.
        """
        answer = await self.ask(wire.send(body, time.time_ns() // _NS_PER_MS, sequence), deadline_ns)
        try:
            refusal = wire.error_in(answer)
            if refusal is not None:
                raise of_send(refusal)
            return wire.id_in(answer.fields, 3)
        except Malformed as error:
            raise Indefinite(f"malformed answer: {error}") from None

    async def lookup(self, topic: str, deadline_ns: int, *, authoritative: bool = False) -> Lookup | None:
        """What the broker says of who owns a topic; None if it knows nobody.

        Raises:
            Definite, Indefinite: it does not say.
        """
        answer = await self.ask(wire.lookup(full_name(topic), authoritative=authoritative), deadline_ns)
        try:
            return wire.lookup_in(answer)
        except Malformed as error:
            raise Indefinite(f"malformed answer: {error}") from None


def _require(answer: Command) -> None:
    """Raises Definite if an answer says an error, Malformed if it says nothing."""
    refusal = wire.error_in(answer)
    if refusal is not None:
        raise Definite(refusal.text)


class Brokers:
    """Every broker asked who owns the topics. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.names = {node.address: node.name for node in view.of_role(BROKER)}
        self.ways = {node.name: Way(node.address) for node in view.of_role(BROKER)}
        self._topics = [topic_name(view.mark, key) for key in range(view.keys)]

    async def ask(self, deadline_ns: int) -> Route | None:
        """Ask all; whom they name for each topic. None if nobody answers."""
        asked = [(name, key) for name in self.ways for key in range(len(self._topics))]
        answers = await asyncio.gather(*(self._owner(*one, deadline_ns) for one in asked))
        heard = [(key, name, said) for (name, key), said in zip(asked, answers, strict=True) if said is not None]
        if not heard:
            return None
        owners = (owner((name, said) for at, name, said in heard if at == key) for key in range(len(self._topics)))
        return route_over([(one, self.ways) for one in owners])

    async def _owner(self, name: str, key: int, deadline_ns: int) -> str | None:
        """Whom a broker names as the owner, or those it names next do. Who is chosen takes the topic when asked."""
        authoritative = False
        for _ in range(_HOPS):
            try:
                found = await self.ways[name].lookup(self._topics[key], deadline_ns, authoritative=authoritative)
            except (Definite, Indefinite):
                return None
            named = self.names.get(found.address) if found is not None else None
            if found is None or named is None or found.owns:
                return named
            name, authoritative = named, found.authoritative
        return None

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for way in self.ways.values():
            way.close()


def owner(said: Iterable[tuple[str, str]]) -> str | None:
    """Whom most brokers name, and of two alike who names itself; each pair is a broker and whom it names. Pure."""
    pairs = [*said]
    counts = Counter(named for _, named in pairs)
    itself = {name for name, named in pairs if name == named}
    return max(counts, key=lambda one: (counts[one], one in itself), default=None)
