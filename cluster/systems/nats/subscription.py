"""A connection of its own that hears what comes to some subjects: for what a server sends unasked."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from chaos.core.client import Definite
from chaos.core.time_limit import until
from cluster.systems._shared.link import Malformed, connecting
from cluster.systems.nats.protocol import Frames, Message, Ping, Refused, greeting, publish_frame

_PIECE = 1 << 16


class Subscription:
    """An open connection. Whatever breaks it is Definite: who only listens changes nothing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._frames = Frames()
        self._messages: deque[Message] = deque()
        self._refused: Refused | None = None

    def publish(self, subject: str, reply: str, body: bytes) -> None:
        """Send a message."""
        self._writer.write(publish_frame(subject, reply, body, {}))

    async def next(self, until_ns: int) -> Message | None:
        """The next message; None if none comes until then. Raises Definite: the connection broke."""
        try:
            with until(until_ns):
                while not self._messages:
                    self._take(b"" if self._refused is not None else await self._reader.read(_PIECE))
        except TimeoutError:
            return None
        except Malformed as error:
            raise Definite(f"malformed message: {error}") from None
        except OSError as error:
            raise Definite(f"{type(error).__name__}: the watch broke") from None
        return self._messages.popleft()

    def _take(self, data: bytes) -> None:
        """Note what came; what came before a refusal counts. Raises Definite or Malformed."""
        if self._refused is not None:
            raise Definite(f"the server says {self._refused.text}")
        if not data:
            raise Definite("the connection was closed")
        for frame in self._frames.feed(data):
            if isinstance(frame, Ping):
                self._writer.write(b"PONG\r\n")
            elif isinstance(frame, Refused):
                self._refused = frame
            else:
                self._messages.append(frame)


@asynccontextmanager
async def subscribed(host: str, port: int, subjects: Sequence[str], until_ns: int) -> AsyncGenerator[Subscription]:
    """A connection that hears these subjects, numbered from 1; it is closed at the end. Raises Definite."""
    with connecting(until_ns):
        reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(greeting(subjects))
        yield Subscription(reader, writer)
    finally:
        writer.transport.abort()
