"""The way to a node for clients: connections with one channel each, one request at a time, each request once."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems._shared.link import Link
from cluster.systems.rabbitmq.amqp import HEARTBEAT_S, PORT, Amqp, Answer, Delivered, Get, Refused, Request, Settle

_STALE_NS: Final = HEARTBEAT_S * NS_PER_S // 2
"""A connection that nobody used for so long is not used again: no heartbeat is sent, and the server may give it up."""


class Channels:
    """Connections to one node. A request that was answered leaves its connection to the next one."""

    def __init__(self, host: str, port: int = PORT) -> None:
        self._host, self._port = host, port
        self._idle: list[tuple[Link[Request, Answer], int]] = []

    @contextlib.asynccontextmanager
    async def _channel(self) -> AsyncIterator[Link[Request, Answer]]:
        """A connection of one's own; it is closed unless everything on it was answered.

        So whatever it was given and did not acknowledge goes back to its queue.
        """
        link = self._fresh() or Link[Request, Answer](self._host, self._port, Amqp)
        try:
            yield link
        except BaseException:
            link.close()
            raise
        self._idle.append((link, now_ns()))

    def _fresh(self) -> Link[Request, Answer] | None:
        """An idle connection that is not stale, the last used first."""
        while self._idle:
            link, used_ns = self._idle.pop()
            if now_ns() - used_ns < _STALE_NS:
                return link
            link.close()
        return None

    async def ask(self, request: Request, deadline_ns: int) -> Answer:
        """One request, one answer. A connection on which something was refused is not used again.

        Raises:
            Definite: it was not sent. Indefinite: nobody knows what became of it.
        """
        with contextlib.suppress(_Spoilt):
            async with self._channel() as link:
                answer = await link.ask(request, deadline_ns)
                if isinstance(answer, Refused) and not answer.returned:
                    raise _Spoilt
        return answer

    async def take(self, queue: str, deadline_ns: int, hear: Callable[[Delivered], None]) -> Answer:
        """Take a message and acknowledge it: what the acknowledgement was answered, or that there was no message.

        Args:
            queue: from where.
            deadline_ns: of both.
            hear: gets the message before it is acknowledged.

        Raises:
            Definite, Indefinite: as ``ask``; of the message if there was one, else of the request for it.
        """
        with contextlib.suppress(_Spoilt):
            async with self._channel() as link:
                answer = await link.ask(Get(queue), deadline_ns)
                if isinstance(answer, Delivered):
                    hear(answer)
                    answer = await link.ask(Settle(answer.tag), deadline_ns)
                if isinstance(answer, Refused):
                    raise _Spoilt
        return answer

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        while self._idle:
            self._idle.pop()[0].close()


class _Spoilt(Exception):  # noqa: N818 - an adjective, as Definite and Indefinite are
    """The server closed the channel."""
