"""A connection of one reader or consumer: it is greeted, asks, and hears commands in the order in which they come.

A broker sends messages to it of its own accord, so answers cannot be all that comes. Whatever goes wrong is Definite
here; whoever asked for something that may have had an effect says otherwise.
"""

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, TypeVar

from chaos.core.client import Definite
from chaos.core.time_limit import until
from cluster.systems._shared.link import NO_ANSWER, Malformed, connecting
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.settings import BROKER_PORT
from cluster.systems.pulsar.wire import Command, Request

_CHUNK: Final = 1 << 16

FoundT = TypeVar("FoundT")


class Session:
    """A connection to a broker. Every method raises Definite.

    Args:
        host: the broker's address.
        port: the broker's.
        hello: what it is greeted with.
    """

    def __init__(self, host: str, port: int = BROKER_PORT, hello: Request = wire.HELLO) -> None:
        self._place = host, port
        self._hello = hello
        self._number = 0
        self._data = bytearray()
        self._waiting: list[Command] = []

    async def open(self, deadline_ns: int) -> None:
        """Connect and be greeted."""
        with connecting(deadline_ns):
            self._in, self._out = await asyncio.open_connection(*self._place)
        try:
            await self.ask(self._hello, wire.CONNECTED, deadline_ns)
        except BaseException:
            self.close()
            raise

    async def ask(self, request: Request, kind: int, deadline_ns: int) -> Command:
        """Ask, and wait for an answer of a kind."""
        self.tell(request)
        found = await self.heard((kind,), deadline_ns)
        if found is None:
            raise Definite(NO_ANSWER)
        return found

    def tell(self, request: Request) -> None:
        """Write a request."""
        self._number += 1
        self._out.write(wire.encode_request(self._number, request))

    async def heard(self, kinds: Collection[int], deadline_ns: int) -> Command | None:
        """The next command of some kinds, None if there is none in time; others are passed over, but for errors."""
        try:
            with until(deadline_ns):
                while True:
                    while self._waiting:
                        command = self._waiting.pop(0)
                        if command.kind in kinds:
                            return command
                        self._pass_over(command)
                    data = await self._in.read(_CHUNK)
                    if not data:
                        raise Definite("connection closed by the server")
                    self._data += data
                    self._waiting += parse_or_definite(partial(wire.commands_in, self._data))
        except TimeoutError:
            return None
        except OSError:
            raise Definite("connection reset") from None

    def _pass_over(self, command: Command) -> None:
        """Answer whether we are still there. Raises Definite for an error."""
        refusal = parse_or_definite(partial(wire.error_in, command))
        if refusal is not None:
            raise Definite(refusal.text)
        if command.kind == wire.PING:
            self._out.write(wire.encode_request(0, wire.STILL_HERE))

    def close(self) -> None:
        """Drop the connection; safe to call twice."""
        self._out.transport.abort()


def parse_or_definite(parse: Callable[[], FoundT]) -> FoundT:
    """What bytes say. Raises Definite: they say nothing."""
    try:
        return parse()
    except Malformed as error:
        raise Definite(f"malformed answer: {error}") from None
