"""Connections to one server: many requests in flight on one socket, each with its own deadline.

Never retries. What was certainly not written is ``Definite``; once the request has left, whatever
happens is ``Indefinite``. A connection that stayed silent for a request's whole deadline gets no new
requests: they open a fresh one, while older requests may still be answered on the silent one.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems.rocketmq.protocol import Answer, FrameBuffer, ProtocolError, encode_request

CONNECT_TIMEOUT_S: Final = 1.0
MAX_IN_FLIGHT: Final = 4096
MAX_UNSENT_BYTES: Final = 8 << 20
MAX_SILENT: Final = 8
NO_ANSWER: Final = "no answer before the deadline"


class Connection(asyncio.Protocol):
    """One socket. Answers find their request by the ``opaque`` number."""

    def __init__(self) -> None:
        self._buffer = FrameBuffer()
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._opaque = 0
        self.heard_ns = 0
        self.broken: str | None = None

    @property
    def idle(self) -> bool:
        """Whether no request waits for an answer."""
        return not self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport (called by the event loop)."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand each whole frame to the request that waits for it."""
        self.heard_ns = now_ns()
        try:
            answers = self._buffer.feed(data)
        except ProtocolError as error:
            self.close(f"malformed answer: {error}")
            return
        for answer in answers:
            future = self._waiting.pop(answer.opaque, None) if answer.response else None
            if future is not None and not future.done():
                future.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody knows what became of the requests that were under way."""
        self._fail("connection closed by the server" if exc is None else "connection reset")

    def close(self, why: str = "connection closed by the client") -> None:
        """Drop the socket; requests under way end as ``Indefinite``. Safe to call twice."""
        self._fail(why)
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, why: str) -> None:
        self.broken = self.broken or why
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(Indefinite(self.broken))

    async def request(self, code: int, fields: Mapping[str, object], body: bytes, deadline_ns: int) -> Answer:
        """Send one request and wait for its answer.

        Raises:
            Definite: it was not written.
            Indefinite: it was written, and there is no answer.
        """
        if self.broken is not None or self._transport is None:
            raise Definite(f"not sent: {self.broken or 'not connected'}")
        if len(self._waiting) >= MAX_IN_FLIGHT or self._transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            raise Definite("not sent: bound on requests in flight reached")
        self._opaque = (self._opaque + 1) & 0x7FFFFFFF
        opaque = self._opaque
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[opaque] = future
        self._transport.write(encode_request(code, opaque, fields, body))
        try:
            async with asyncio.timeout(seconds_until(deadline_ns)):
                return await future
        except TimeoutError:
            raise Indefinite(NO_ANSWER) from None
        finally:
            self._waiting.pop(opaque, None)


def seconds_until(deadline_ns: int) -> float:
    """Seconds from now to a point of the run's clock, never negative."""
    return max(0.0, (deadline_ns - now_ns()) / NS_PER_S)


class Link:
    """The way to one server: at most one connection that takes new requests, and a few silent ones."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._current: Connection | None = None
        self._dialling: asyncio.Task[Connection] | None = None
        self._silent: list[Connection] = []

    async def request(self, code: int, fields: Mapping[str, object], deadline_ns: int, body: bytes = b"") -> Answer:
        """One request, one answer. Raises as ``Connection.request``; a failed connect is ``Definite``."""
        connection = await self._connected(deadline_ns)
        written_ns = now_ns()
        try:
            return await connection.request(code, fields, body, deadline_ns)
        except Indefinite:
            if connection.heard_ns < written_ns:
                self._leave(connection)
            raise

    async def _connected(self, deadline_ns: int) -> Connection:
        if self._current is not None and self._current.broken is None:
            return self._current
        if self._dialling is None:
            self._dialling = asyncio.get_running_loop().create_task(self._dial())
            self._dialling.add_done_callback(self._dialled)
        dialling = self._dialling
        try:
            async with asyncio.timeout(seconds_until(deadline_ns)):
                return await asyncio.shield(dialling)
        except TimeoutError:
            raise Definite("connect: no answer before the deadline") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if dialling.cancelled() and task is not None and not task.cancelling():  # by close(), not the caller
                raise Definite("connect: given up by the client") from None
            raise

    async def _dial(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                _, connection = await loop.create_connection(Connection, self._host, self._port)
        except ConnectionRefusedError:
            raise Definite("connect: refused") from None
        except TimeoutError:
            raise Definite("connect: no answer") from None
        except OSError as error:
            raise Definite(f"connect: {error.strerror or type(error).__name__}") from None
        return connection

    def _dialled(self, task: "asyncio.Task[Connection]") -> None:
        # Nobody may be waiting any more, and an exception that nobody fetches would be shouted about.
        if self._dialling is task:
            self._dialling = None
            if not task.cancelled() and task.exception() is None:
                self._current = task.result()
        elif not task.cancelled() and task.exception() is None:
            task.result().close()

    def _leave(self, connection: Connection) -> None:
        if self._current is connection:
            self._current = None
            self._silent.append(connection)
        for silent in [*self._silent]:
            if silent.idle or silent.broken is not None:
                silent.close()
                self._silent.remove(silent)
        if len(self._silent) > MAX_SILENT:
            self._silent.pop(0).close("connection closed by the client: too many silent ones")

    def close(self) -> None:
        """Drop every connection; safe to call twice. The next request dials anew."""
        dialling, self._dialling = self._dialling, None
        if dialling is not None:
            dialling.cancel()
        current, self._current = self._current, None
        silent, self._silent = self._silent, []
        for connection in [current, *silent]:
            if connection is not None:
                connection.close()
