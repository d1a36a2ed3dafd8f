"""Connections to one server: many requests in flight on one socket, each with its own deadline.

Never retries. What was certainly not written is ``Definite``; once the request has left, whatever happens is
``Indefinite``. A connection that stayed silent for a request's whole deadline gets no new requests: they open a fresh
one, while older requests may still be answered on the silent one. How a request looks on the wire is a ``Codec``'s
business.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, Protocol, TypeVar

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import now_ns, ns_from_now
from chaos.core.time_limit import until

CONNECT_TIMEOUT_S: Final = 1.0
MAX_IN_FLIGHT: Final = 4096
MAX_UNSENT_BYTES: Final = 8 << 20
MAX_SILENT: Final = 8
NO_ANSWER: Final = "no answer before the deadline"
_NUMBER_MASK: Final = 0x7FFFFFFF

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")
RequestT_contra = TypeVar("RequestT_contra", contravariant=True)
AnswerT_co = TypeVar("AnswerT_co", covariant=True)


class Malformed(Exception):  # noqa: N818 - an adjective, as Definite and Indefinite are
    """Bytes that came in, or a request that should go out, do not fit the protocol."""


class Codec(Protocol[RequestT_contra, AnswerT_co]):
    """One connection's protocol; it keeps the bytes of a frame that is not whole yet."""

    @property
    def greeting(self) -> bytes:
        """What whoever opens a connection says first; may be empty."""
        ...

    def encode(self, number: int, request: RequestT_contra) -> bytes:
        """The bytes of a request under a number that its answer will carry.

        Raises:
            Malformed: the protocol cannot say it.
        """
        ...

    def feed(self, data: bytes) -> Iterable[tuple[int, AnswerT_co]]:
        """The answers that are whole now, with the numbers of their requests.

        Raises:
            Malformed: the bytes are not this protocol's; the connection cannot be used any further.
        """
        ...


class Connection(asyncio.Protocol, Generic[RequestT, AnswerT]):
    """One socket. Answers find their request by its number."""

    def __init__(self, codec: Codec[RequestT, AnswerT]) -> None:
        self._codec = codec
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, asyncio.Future[AnswerT]] = {}
        self._number = 0
        self.heard_ns = 0
        self.broken: str | None = None

    @property
    def idle(self) -> bool:
        """Whether no request waits for an answer."""
        return not self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport and say the greeting (called by the event loop)."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._codec.greeting)

    def data_received(self, data: bytes) -> None:
        """Hand each whole frame to the request that waits for it."""
        self.heard_ns = now_ns()
        try:
            answers = self._codec.feed(data)
        except Malformed as error:
            self.close(f"malformed answer: {error}")
            return
        for number, answer in answers:
            future = self._waiting.pop(number, None)
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

    async def ask(self, request: RequestT, deadline_ns: int) -> AnswerT:
        """Send one request and wait for its answer.

        Raises:
            Definite: it was not written.
            Indefinite: it was written, and there is no answer.
        """
        number = self._write(request)
        future: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            with until(deadline_ns):
                return await future
        except TimeoutError:
            raise Indefinite(NO_ANSWER) from None
        finally:
            self._waiting.pop(number, None)

    def tell(self, request: RequestT) -> None:
        """Write a request that has no answer. Raises Definite: it was not written."""
        self._write(request)

    def _write(self, request: RequestT) -> int:
        """Write a request; its number. Raises Definite: it was not written."""
        if self.broken is not None or self._transport is None:
            raise Definite(f"not sent: {self.broken or 'not connected'}")
        if len(self._waiting) >= MAX_IN_FLIGHT or self._transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            raise Definite("not sent: bound on requests in flight reached")
        self._number = number = (self._number + 1) & _NUMBER_MASK
        try:
            encoded = self._codec.encode(number, request)
        except Malformed as error:
            raise Definite(f"not sent: {error}") from None
        self._transport.write(encoded)
        return number


def connected_by_ns(deadline_ns: int) -> int:
    """When a connection that begins now must have come: soon, or at the deadline of what it is for."""
    return min(deadline_ns, ns_from_now(CONNECT_TIMEOUT_S))


@contextmanager
def connecting(deadline_ns: int) -> Iterator[None]:
    """A block that opens a connection for what must be done by then.

    Raises:
        Definite: there is none, so nothing was sent.
    """
    try:
        with until(connected_by_ns(deadline_ns)):
            yield
    except ConnectionRefusedError:
        raise Definite("connect: refused") from None
    except TimeoutError:
        raise Definite("connect: no answer") from None
    except OSError as error:
        raise Definite(f"connect: {error.strerror or type(error).__name__}") from None


class Link(Generic[RequestT, AnswerT]):
    """The way to one server: at most one connection that takes new requests, and a few silent ones."""

    def __init__(self, host: str, port: int, codec: Callable[[], Codec[RequestT, AnswerT]]) -> None:
        self._host = host
        self._port = port
        self._codec = codec
        self._current: Connection[RequestT, AnswerT] | None = None
        self._dialling: asyncio.Task[Connection[RequestT, AnswerT]] | None = None
        self._silent: list[Connection[RequestT, AnswerT]] = []

    async def ask(self, request: RequestT, deadline_ns: int) -> AnswerT:
        """One request, one answer. Raises as ``Connection.ask``; a failed connect is ``Definite``."""
        connection = await self._connected(deadline_ns)
        written_ns = now_ns()
        try:
            return await connection.ask(request, deadline_ns)
        except Indefinite:
            if connection.heard_ns < written_ns:
                self._leave(connection)
            raise

    async def tell(self, request: RequestT, deadline_ns: int) -> None:
        """Write a request that has no answer.

        Raises:
            Definite: it was not written.
        """
        (await self._connected(deadline_ns)).tell(request)

    async def _connected(self, deadline_ns: int) -> Connection[RequestT, AnswerT]:
        if self._current is not None and self._current.broken is None:
            return self._current
        if self._dialling is None:
            self._dialling = asyncio.get_running_loop().create_task(self._dial())
            self._dialling.add_done_callback(self._dialled)
        dialling = self._dialling
        try:
            with until(deadline_ns):
                return await asyncio.shield(dialling)
        except TimeoutError:
            raise Definite("connect: no answer before the deadline") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if dialling.cancelled() and task is not None and not task.cancelling():  # by close(), not the caller
                raise Definite("connect: given up by the client") from None
            raise

    async def _dial(self) -> Connection[RequestT, AnswerT]:
        loop = asyncio.get_running_loop()
        with connecting(ns_from_now(CONNECT_TIMEOUT_S)):
            _, connection = await loop.create_connection(lambda: Connection(self._codec()), self._host, self._port)
        return connection

    def _dialled(self, task: "asyncio.Task[Connection[RequestT, AnswerT]]") -> None:
        # Nobody may be waiting any more, and an exception that nobody fetches would be shouted about.
        if self._dialling is task:
            self._dialling = None
            if not task.cancelled() and task.exception() is None:
                self._current = task.result()
        elif not task.cancelled() and task.exception() is None:
            task.result().close()

    def _leave(self, connection: Connection[RequestT, AnswerT]) -> None:
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
