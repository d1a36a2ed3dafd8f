"""The way in: a node's listener, and what comes over the connections of peers and of clients.

Whoever says what this protocol does not know, or says nothing at first, loses the connection, and one line tells of it.
A client that asks without reading the answers loses it as well, since the answers would else pile up here. Does not
keep an answer for a peer that has gone.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from cluster.systems.minimq.protocol.wire import PROTOCOL, Back, Call, Frames, Hello, NodeMessage, WireError, frame
from cluster.systems.minimq.server.peer_links import tune

HELLO_S: Final = 5.0
"""How long a new connection may stay silent."""
CONNECTIONS_MAX: Final = 1024
UNREAD_BYTES_MAX: Final = 16 << 20
_RECEIVE_BYTES: Final = 1 << 17
_KEEPALIVE: Final = ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3))


class ListenerHandlers(msgspec.Struct, frozen=True, kw_only=True):
    """What the listener hands on, and to whom. ``on_end``: a batch has been handed on; ``say``: one line for people."""

    peers: Mapping[str, str]
    on_message: Callable[[str, msgspec.Struct], None]
    on_call: Callable[["Incoming", int, msgspec.Struct], None]
    on_end: Callable[[], None]
    say: Callable[[str], None]


class Incoming(asyncio.BufferedProtocol):
    """One connection that somebody opened."""

    def __init__(self, doors: ListenerHandlers, connections: set["Incoming"], buffer: memoryview) -> None:
        """``buffer``: where bytes arrive; all connections may share it, since it is empty between their events."""
        self._doors = doors
        self._connections = connections
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._frames: Frames[Any] = Frames(Hello)
        self._hello: Hello | None = None
        self._from = "?"
        self._patience: asyncio.TimerHandle | None = None
        self._out: list[bytes] = []
        self._out_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the greeting, but not for long."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        address, port = transport.get_extra_info("peername")[:2]
        self._from = f"{address}:{port}"
        connection = transport.get_extra_info("socket")
        tune(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        if len(self._connections) >= CONNECTIONS_MAX:
            self.end(f"{CONNECTIONS_MAX} connections are open already; close some")
            return
        self._connections.add(self)
        self._patience = asyncio.get_running_loop().call_later(HELLO_S, self._lose_patience)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why it ended changes nothing
        """Forget it; answers that come now find nobody."""
        self._transport = None
        self._out.clear()
        self._connections.discard(self)
        if self._patience is not None:
            self._patience.cancel()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - it is as large as it is
        """Where the next bytes go."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Hand on what is whole."""
        data = self._buffer[:nbytes]
        try:
            if self._hello is None:
                for hello in self._frames.feed(data, count_max=1):
                    self._welcome(hello)
                data = self._buffer[:0]
            if self._hello is not None:
                self._hand_on(self._frames.feed(data))
                self._doors.on_end()
        except WireError as error:
            self.end(str(error))

    def _welcome(self, hello: Hello) -> None:
        if hello.protocol != PROTOCOL:
            raise WireError(f"protocol {hello.protocol}, not {PROTOCOL}")
        if hello.node is not None and hello.node not in self._doors.peers:
            raise WireError(f"{hello.node!r} is none of the other nodes")
        self._hello = hello
        if self._patience is not None:
            self._patience.cancel()
        if hello.node is not None:
            # A peer has one connection: it has given up the one before, which the network may not have told.
            for other in [each for each in self._connections if each is not self and each.node == hello.node]:
                other.abort()
        self._frames = self._frames.then(Call if hello.node is None else NodeMessage)

    @property
    def node(self) -> str | None:
        """The peer at the other end, None for a client or somebody unknown."""
        return self._hello.node if self._hello is not None else None

    def _hand_on(self, values: list[Any]) -> None:
        node = self.node
        for value in values:
            if self._transport is None:
                return  # ended over one of them
            if node is not None:
                self._doors.on_message(node, value)
            else:
                self._doors.on_call(self, value.number, value.body)

    # ------------------------------------------------------------ answers

    def answer(self, number: int, body: Any) -> None:
        """Answer the call of this number with the next ``flush``, if the client is still there and reads."""
        transport = self._transport
        if transport is None:
            return
        data = frame(Back(number, body))
        self._out.append(data)
        self._out_bytes += len(data)
        if self._out_bytes + transport.get_write_buffer_size() > UNREAD_BYTES_MAX:
            self.end(f"more than {UNREAD_BYTES_MAX} bytes of answers were not read")

    def flush(self) -> None:
        """Hand the answers to the network."""
        if self._transport is not None and self._out:
            self._transport.write(self._out[0] if len(self._out) == 1 else b"".join(self._out))
            self._out.clear()
            self._out_bytes = 0

    # ------------------------------------------------------------ ending

    def end(self, why: str) -> None:
        """End the connection at once, and say why."""
        self._doors.say(f"ends the connection from {self._from}: {why}")
        self.abort()

    def abort(self) -> None:
        """End the connection at once; what was said on it and not yet read is not read any more."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def _lose_patience(self) -> None:
        if self._hello is None:
            self.end(f"no greeting within {HELLO_S:g} s")


async def listen(address: str, port: int, doors: ListenerHandlers) -> asyncio.Server:
    """Accept connections until the server is closed.

    Raises:
        OSError: the address cannot be used.
    """
    connections: set[Incoming] = set()
    buffer = memoryview(bytearray(_RECEIVE_BYTES))
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Incoming(doors, connections, buffer), address, port, backlog=256)
