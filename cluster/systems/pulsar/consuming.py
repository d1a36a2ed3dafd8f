"""Messages taken one by one and acknowledged: consumers of the one Shared subscription of a topic.

A consumer permits one message at a time, so that no other waits behind it. Pulsar does not say that there is none; so
once none has come for a while the owner is asked how many the subscription has not acknowledged, exactly. A permit
that brought nothing stays good: the next operation on that consumer takes what came meanwhile.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.positions import MessageId
from cluster.systems.pulsar.session import Session, parse_or_definite
from cluster.systems.pulsar.settings import BROKER_PORT, KEEP_ALIVE_S, SUBSCRIPTION, full_name
from cluster.systems.pulsar.web import Web

PATIENCE_NS: Final = NS_PER_S // 10
"""A message that is there has come by then, as a rule; then the owner is asked, and again after twice as long."""
_STALE_NS: Final = KEEP_ALIVE_S * NS_PER_S // 2
"""A consumer that nobody used for so long is closed: it answers no pings, and may hold a message that came since."""
_LOOK_S: Final = 0.5
"""So often idle consumers are looked at."""


class Delivered(NamedTuple):
    """A message that a consumer was given. ``again``: the broker calls it a redelivery."""

    where: MessageId
    body: bytes
    again: bool


class Consumer:
    """A consumer on a connection of its own. Whatever it was given and did not acknowledge goes back when it closes."""

    def __init__(self, host: str, topic: str, web: Web, port: int = BROKER_PORT) -> None:
        self._session = Session(host, port, wire.HELLO_ALIVE)
        self._topic = topic
        self._web = web
        self._permitted = False

    async def open(self, deadline_ns: int) -> None:
        """Connect and join the subscription. Raises Definite: it is not in it."""
        await self._session.open(deadline_ns)
        try:
            await self._session.ask(wire.share(full_name(self._topic), SUBSCRIPTION), wire.SUCCESS, deadline_ns)
        except BaseException:
            self.close()
            raise

    async def take(self, deadline_ns: int) -> Delivered | None:
        """The next message; None if the subscription has acknowledged all. Raises Indefinite: one may be under way."""
        try:
            if not self._permitted:
                self._session.tell(wire.flow(1))
                self._permitted = True
            patience_ns = PATIENCE_NS
            while (came := await self._message(min(deadline_ns, now_ns() + patience_ns))) is None:
                if now_ns() >= deadline_ns:
                    raise Indefinite(NO_ANSWER)
                if await self._web.backlog(self._topic, SUBSCRIPTION, deadline_ns) == 0:
                    return None
                patience_ns *= 2
        except Definite as error:
            raise Indefinite(str(error)) from None
        self._permitted = False
        return came

    async def _message(self, deadline_ns: int) -> Delivered | None:
        command = await self._session.heard((wire.MESSAGE,), deadline_ns)
        if command is None:
            return None
        where, body = parse_or_definite(partial(wire.message_in, command))
        return Delivered(where, body, parse_or_definite(partial(wire.redeliveries_in, command)) > 0)

    async def settle(self, where: MessageId, deadline_ns: int) -> None:
        """Acknowledge a message. Raises Indefinite: the broker does not say that it has heard of it."""
        try:
            answer = await self._session.ask(wire.acknowledge(where), wire.ACK_RESPONSE, deadline_ns)
            refusal = parse_or_definite(partial(wire.error_in, answer))
        except Definite as error:
            raise Indefinite(f"acknowledgement: {error}") from None
        if refusal is not None:
            raise Indefinite(f"acknowledgement: {refusal.text}")

    def close(self) -> None:
        """Drop the connection; safe to call twice."""
        self._session.close()


class Consumers:
    """The consumers of one topic at one broker, each used by one operation at a time."""

    def __init__(self, make: Callable[[], Consumer]) -> None:
        self._make = make
        self._idle: list[tuple[Consumer, int]] = []
        self._closing: asyncio.TimerHandle | None = None

    async def take(self, deadline_ns: int, hear: Callable[[Delivered | None], None]) -> None:
        """Take a message and acknowledge it; ``hear`` gets it before that, None if there is none.

        Raises:
            Definite: no message was asked for. Indefinite: it may have been given, or acknowledged.
        """
        consumer = self._fresh()
        if consumer is None:
            consumer = self._make()
            await consumer.open(deadline_ns)
        try:
            found = await consumer.take(deadline_ns)
            hear(found)
            if found is not None:
                await consumer.settle(found.where, deadline_ns)
        except BaseException:
            consumer.close()
            raise
        self._idle.append((consumer, now_ns()))
        if self._closing is None:
            self._close_stale()

    def _fresh(self) -> Consumer | None:
        """An idle consumer that is not stale, the one that waits longest first: a message may have come to it."""
        while self._idle:
            consumer, used_ns = self._idle.pop(0)
            if now_ns() - used_ns < _STALE_NS:
                return consumer
            consumer.close()
        return None

    def _close_stale(self) -> None:
        """Close the consumers that are stale, now and as long as any is idle."""
        while self._idle and now_ns() - self._idle[0][1] >= _STALE_NS:
            self._idle.pop(0)[0].close()
        again = asyncio.get_running_loop().call_later
        self._closing = again(_LOOK_S, self._close_stale) if self._idle else None

    def close(self) -> None:
        """Drop every consumer that is not in use; safe to call twice."""
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
        while self._idle:
            self._idle.pop()[0].close()
