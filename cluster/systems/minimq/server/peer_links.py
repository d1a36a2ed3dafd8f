"""The way out to the other nodes: one connection to each, opened again as long as this node lives.

Messages may be lost, and are: the oldest first when a peer does not keep up, all but the newest while there is no
connection. Connections are given up early, because TCP's own back-off outlasts a cut: after sixty seconds without a
network it would try again only every minute, and nodes would stay apart long after the cut has healed. Does not read
messages and does not wait for any.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Final

CONNECT_S: Final = 0.8
"""How long an attempt to connect may take; TCP itself would repeat its first packet after a second."""
UNACKNOWLEDGED_MS: Final = 1200
"""How long sent bytes may stay without an acknowledgement, or a peer's window closed, before the connection ends."""
BACKOFF_S: Final = (0.02, 0.05, 0.1, 0.2)
"""Pauses after failed attempts; the last one repeats."""
OUTBOX_BYTES_MAX: Final = 4 << 20
OUTBOX_FRAMES_MAX: Final = 4096
OFFLINE_FRAMES_MAX: Final = 32
_WRITE_BUFFER_BYTES: Final = 1 << 20


def tune(connection: socket.socket) -> None:
    """Send at once, and find out soon that nobody is there."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)


class Outgoing(asyncio.Protocol):
    """One connection to a peer, in one direction: a peer has nothing to say on it."""

    def __init__(self, on_room: Callable[[], None]) -> None:
        """``on_room`` is called when the peer takes data again."""
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.paused = False
        self._on_room = on_room

    def pause_writing(self) -> None:
        """The peer does not keep up."""
        self.paused = True

    def resume_writing(self) -> None:
        """It does again."""
        self.paused = False
        self._on_room()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it ended changes nothing
        """Let the link connect anew."""
        if not self.lost.done():
            self.lost.set_result(None)


class Link:
    """The way to one peer."""

    def __init__(self, address: tuple[str, int], source: str, greeting: bytes) -> None:
        """``address``: where the peer listens; ``source``: the address to come from; ``greeting``: what goes first."""
        self._address = address
        self._source = source
        self._greeting = greeting
        self._outbox: deque[bytes] = deque()
        self._outbox_bytes = 0
        self._transport: asyncio.WriteTransport | None = None
        self._protocol: Outgoing | None = None

    def send(self, frame: bytes) -> None:
        """Put a frame into the outbox; it leaves with the next ``flush`` that finds the peer."""
        self._outbox.append(frame)
        self._outbox_bytes += len(frame)
        frames_max = OFFLINE_FRAMES_MAX if self._transport is None else OUTBOX_FRAMES_MAX
        while len(self._outbox) > 1 and (len(self._outbox) > frames_max or self._outbox_bytes > OUTBOX_BYTES_MAX):
            self._outbox_bytes -= len(self._outbox.popleft())

    def flush(self) -> None:
        """Hand the outbox to the network, if it takes anything."""
        if self._transport is None or self._protocol is None or self._protocol.paused or not self._outbox:
            return
        self._transport.write(self._outbox[0] if len(self._outbox) == 1 else b"".join(self._outbox))
        self._outbox.clear()
        self._outbox_bytes = 0

    async def run(self) -> None:
        """Keep a connection until cancelled."""
        failures = 0
        while True:
            try:
                async with asyncio.timeout(CONNECT_S):
                    transport, protocol = await self._connect()
            except OSError:  # a deadline's TimeoutError is one
                await asyncio.sleep(BACKOFF_S[min(failures, len(BACKOFF_S) - 1)])
                failures += 1
                continue
            failures = 0
            self._transport, self._protocol = transport, protocol
            transport.write(self._greeting)
            self.flush()
            try:
                await protocol.lost
            finally:
                transport.abort()
                self._transport = self._protocol = None
            # A peer that accepts and ends at once must not be asked in a tight loop.
            await asyncio.sleep(BACKOFF_S[0])

    async def _connect(self) -> tuple[asyncio.WriteTransport, Outgoing]:
        loop = asyncio.get_running_loop()
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            tune(connection)
            connection.bind((self._source, 0))
            await loop.sock_connect(connection, self._address)
            transport, protocol = await loop.create_connection(lambda: Outgoing(self.flush), sock=connection)
        except BaseException:
            connection.close()
            raise
        transport.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        return transport, protocol
