"""A connection of its own, with a session, on which answers and events are heard in the order in which they come."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from chaos.core.client import Definite
from chaos.core.time_limit import until
from cluster.systems._shared.link import NO_ANSWER, Malformed, connecting
from cluster.systems.zookeeper.jute import Answer, Jute, Request, session
from cluster.systems.zookeeper.outcomes import outcome
from cluster.systems.zookeeper.servers import NO_SESSION, Server

_PIECE: Final = 1 << 16
_FIRST: Final = 0
"""The number of the request for the session."""


class SessionStream:
    """An open connection. Whatever breaks it is Definite: who only listens and reads changes nothing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._codec = Jute()
        self._heard: deque[tuple[int, Answer]] = deque()
        self._number = _FIRST

    async def begin(self, timeout_ms: int, until_ns: int) -> None:
        """Begin a session of this length. Raises Definite: there is none."""
        self._writer.write(self._codec.encode(_FIRST, session(timeout_ms)))
        try:
            heard = await self.next(until_ns)
        except Definite as error:
            raise Definite(f"{NO_SESSION}: {error}") from None
        if heard is None:
            raise Definite(f"{NO_SESSION}: {NO_ANSWER}")
        if heard[1].error:
            raise Definite(f"{NO_SESSION}: {outcome(heard[1].error, write=False)}")

    def ask(self, request: Request) -> int:
        """Send a request; the number that its answer will have."""
        self._number += 1
        self._writer.write(self._codec.encode(self._number, request))
        return self._number

    async def next(self, until_ns: int) -> tuple[int, Answer] | None:
        """The next answer with its number, or event; None if none comes until then. Raises Definite: it broke."""
        try:
            with until(until_ns):
                while not self._heard:
                    data = await self._reader.read(_PIECE)
                    if not data:
                        raise Definite("connection closed by the server")
                    self._heard.extend(self._codec.feed(data))
        except TimeoutError:
            return None
        except Malformed as error:
            raise Definite(f"malformed answer: {error}") from None
        except OSError as error:
            raise Definite(f"connection lost: {type(error).__name__}") from None
        return self._heard.popleft()


@asynccontextmanager
async def session_stream(server: Server, timeout_ms: int, until_ns: int) -> AsyncGenerator[SessionStream]:
    """A connection to a server with a session; it is closed at the end. Raises Definite."""
    with connecting(until_ns):
        reader, writer = await asyncio.open_connection(*server.place)
    try:
        stream = SessionStream(reader, writer)
        await stream.begin(timeout_ms, until_ns)
        yield stream
    finally:
        writer.transport.abort()
