"""One read: a reader that is made for it, its messages up to a place, and the end of its connection.

What Pulsar calls a reader keeps its place nowhere: it is set at a message, and gets that one and those that follow
from the topic's owner. It asks for the topic's last message first.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Self
from uuid import uuid4

from chaos.core.client import Definite
from cluster.systems._shared.link import NO_ANSWER
from cluster.systems.pulsar import wire
from cluster.systems.pulsar.positions import MessageId
from cluster.systems.pulsar.session import Session, parse_or_definite
from cluster.systems.pulsar.settings import BROKER_PORT, full_name

PERMITS: Final = 500
"""So many messages may be under way to a reader."""


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
        self._session = Session(host, port)
        # A broker lets one in by a name, and may keep one whose connection broke for a while.
        self._subscribe = wire.read_from(full_name(topic), f"chaos-{uuid4().hex}", begin)
        self._deadline_ns = deadline_ns

    async def __aenter__(self) -> Self:
        await self._session.open(self._deadline_ns)
        try:
            await self._session.ask(self._subscribe, wire.SUCCESS, self._deadline_ns)
        except BaseException:
            self._session.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._session.close()

    async def last(self) -> MessageId:
        """The last message of the topic, of entry -1 if there is none."""
        answer = await self._session.ask(wire.last_id(), wire.LAST_ID_RESPONSE, self._deadline_ns)
        return parse_or_definite(partial(wire.id_in, answer.fields, 1))

    async def messages(self, most: int, note: Callable[[MessageId, bytes], bool]) -> None:
        """Hand messages to ``note`` as they come, at most so many, until it returns True."""
        left, permits = most, 0
        while left:
            if permits <= PERMITS // 2:
                more = min(PERMITS, left) - permits
                if more > 0:
                    self._session.tell(wire.flow(more))
                    permits += more
            command = await self._session.heard((wire.MESSAGE,), self._deadline_ns)
            if command is None:
                raise Definite(NO_ANSWER)
            left, permits = left - 1, permits - 1
            if note(*parse_or_definite(partial(wire.message_in, command))):
                return
