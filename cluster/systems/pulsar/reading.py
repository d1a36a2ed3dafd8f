"""One read: a reader that is made for it, its messages up to a place, and the end of its connection.

What Pulsar calls a reader keeps its place nowhere: it is set at a message, and gets that one and those that follow
from the topic's owner. It asks for the topic's last message first.
"""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Self, TypeVar
from uuid import uuid4

from chaos.core.client import Definite
from cluster.systems._shared.link import CONNECT_TIMEOUT_S, NO_ANSWER, Malformed, seconds_until
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.positions import MessageId
from cluster.systems.pulsar.settings import BROKER_PORT, NAMESPACE
from cluster.systems.pulsar.wire import Command, Request

PERMITS: Final = 500
"""So many messages may be under way to a reader."""
_CHUNK: Final = 1 << 16
_HELLO, _SUBSCRIBED, _LAST = 1, 2, 3

FoundT = TypeVar("FoundT")


class Reader:
    """A reader on a connection of its own; comes and goes by ``async with``.

    Every method raises Definite: nothing is changed by a read.

    Args:
        host: a broker's address.
        topic: without its namespace.
        begin: where it is set.
        deadline_ns: of the whole read.
        port: the broker's.
    """

    def __init__(self, host: str, topic: str, begin: MessageId, deadline_ns: int, port: int = BROKER_PORT) -> None:
        self._place = host, port
        # A broker lets one in by a name, and may keep one whose connection broke for a while.
        name = f"chaos-{uuid4().hex}"
        self._subscribe = wire.subscribe(f"persistent://{NAMESPACE}/{topic}", name, begin)
        self._deadline_ns = deadline_ns
        self._data = bytearray()
        self._waiting: list[Command] = []

    async def __aenter__(self) -> Self:
        limit_s = min(CONNECT_TIMEOUT_S, seconds_until(self._deadline_ns))
        try:
            async with asyncio.timeout(limit_s):
                self._in, self._out = await asyncio.open_connection(*self._place)
        except ConnectionRefusedError:
            raise Definite("connect: refused") from None
        except TimeoutError:
            raise Definite("connect: no answer") from None
        except OSError as error:
            raise Definite(f"connect: {error.strerror or type(error).__name__}") from None
        try:
            await self._asked(wire.HELLO, _HELLO, wire.CONNECTED)
            await self._asked(self._subscribe, _SUBSCRIBED, wire.SUCCESS)
        except BaseException:
            self._out.transport.abort()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._out.transport.abort()

    async def last(self) -> MessageId:
        """The last message of the topic, of entry -1 if there is none."""
        answer = await self._asked(wire.last_id(), _LAST, wire.LAST_ID_RESPONSE)
        return _certain(partial(wire.id_in, answer.fields, 1))

    async def messages(self, most: int, note: Callable[[MessageId, bytes], bool]) -> None:
        """Hand messages to ``note`` as they come, at most so many, until it returns True."""
        left, permits = most, 0
        while left:
            if permits <= PERMITS // 2:
                more = min(PERMITS, left) - permits
                if more > 0:
                    self._out.write(wire.encoded(0, wire.flow(more)))
                    permits += more
            command = await self._next(wire.MESSAGE)
            left, permits = left - 1, permits - 1
            if note(*_certain(partial(wire.message_in, command))):
                return

    async def _asked(self, request: Request, number: int, kind: int) -> Command:
        self._out.write(wire.encoded(number, request))
        return await self._next(kind)

    async def _next(self, kind: int) -> Command:
        """The next command of a kind; others are passed over, but for errors."""
        try:
            async with asyncio.timeout(seconds_until(self._deadline_ns)):
                while True:
                    for command in self._taken():
                        refusal = _certain(partial(wire.error_in, command))
                        if refusal is not None:
                            raise Definite(refusal.text)
                        if command.kind == kind:
                            return command
                    data = await self._in.read(_CHUNK)
                    if not data:
                        raise Definite("connection closed by the server")
                    self._data += data
                    self._waiting += _certain(partial(wire.commands_in, self._data))
        except TimeoutError:
            raise Definite(NO_ANSWER) from None
        except OSError:
            raise Definite("connection reset") from None

    def _taken(self) -> Iterator[Command]:
        while self._waiting:
            yield self._waiting.pop(0)


def _certain(parse: Callable[[], FoundT]) -> FoundT:
    """What bytes say. Raises Definite: they say nothing."""
    try:
        return parse()
    except Malformed as error:
        raise Definite(f"malformed answer: {error}") from None
