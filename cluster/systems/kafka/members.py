"""A member of the consumer group that Kafka knows: its place is given, counted and taken away by the coordinator.

Whenever members come or go all join again, under the next generation, and a commit of an older one is refused. A member
says that it is alive before each of its commits, and joins again where it is told to. Source: the message definitions
of Kafka 4.3, in the last versions before "flexible" encodings.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from chaos.core.client import Definite, Indefinite
from chaos.core.time_limit import until
from cluster.systems._shared.link import Malformed
from cluster.systems.kafka import outcomes
from cluster.systems.kafka.servers import Broker
from cluster.systems.kafka.wire import Reader, Request, array, blob, int16, int32, text

SESSION_MS: Final = 6000
"""After so long without a word a member is gone: the least that brokers allow."""
REBALANCE_MS: Final = 1500
"""So long all wait for members that have not joined again."""
_PROTOCOL: Final = "range"


class Place(NamedTuple):
    """Who a member is, and of which generation; without a name it is nobody."""

    name: str = ""
    generation: int = -1


NOBODY: Final = Place()


class Joined(NamedTuple):
    """The answer to a join. ``names``: of all members, for the one that leads them; empty for the others."""

    error: int
    place: Place
    names: tuple[str, ...]


def join(group: str, topic: str, name: str) -> Request:
    """Come into the group, or again into its next generation."""
    subscription = int16(0) + array([text(topic)]) + int32(-1)
    protocols = array([text(_PROTOCOL) + blob(subscription)])
    head = text(group) + int32(SESSION_MS) + int32(REBALANCE_MS) + text(name) + text(None)
    return Request(11, 5, head + text("consumer") + protocols)


def read_joined(reader: Reader) -> Joined:
    """What a join came to; of one without a name only the name that it is to have."""
    reader.int32()
    error, generation = reader.int16(), reader.int32()
    reader.text()
    leader, name = reader.text(), reader.text()
    names = reader.array(lambda: (reader.text(), reader.maybe_text(), reader.blob()))
    return Joined(error, Place(name, generation), tuple(one for one, *_ in names) if leader == name else ())


def sync(group: str, topic: str, place: Place, shares: Sequence[tuple[str, Sequence[int]]]) -> Request:
    """Ask for one's partitions; the member that leads says which each has."""

    def one(name: str, partitions: Sequence[int]) -> bytes:
        wanted = array([text(topic) + array([*map(int32, partitions)])])
        return text(name) + blob(int16(0) + wanted + int32(-1))

    head = text(group) + int32(place.generation) + text(place.name) + text(None)
    return Request(14, 3, head + array([one(*share) for share in shares]))


def heartbeat(group: str, place: Place) -> Request:
    """Say that a member is alive."""
    return Request(12, 3, text(group) + int32(place.generation) + text(place.name) + text(None))


def error_of(reader: Reader) -> int:
    """The error in the answer to a heartbeat or a sync."""
    reader.int32()
    return reader.int16()


def shares(names: Sequence[str], partitions: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Which partitions each member has: they take turns. Pure."""
    return tuple((name, tuple(range(at, partitions, len(names)))) for at, name in enumerate(names))


class Member:
    """One client's place in the group.

    Args:
        group: its name.
        topic: what its members read.
        partitions: how many the topic has.
    """

    def __init__(self, group: str, topic: str, partitions: int) -> None:
        self._group = group
        self._topic = topic
        self._partitions = partitions
        self._place = NOBODY
        self._lock = asyncio.Lock()

    async def place(self, coordinator: Broker, deadline_ns: int) -> Place:
        """The place that the coordinator knows: the one from before, or a new one.

        Raises:
            Definite: there is none in time.
        """
        try:
            with until(deadline_ns):
                await self._lock.acquire()
        except TimeoutError:
            raise Definite("no place in the group: an earlier join has no answer yet") from None
        try:
            if self._place.generation < 0 or not await self._is_alive(coordinator, deadline_ns):
                await self._join(coordinator, deadline_ns)
        except (Indefinite, Malformed) as problem:
            raise Definite(f"no place in the group: {problem}") from None
        finally:
            self._lock.release()
        return self._place

    async def _is_alive(self, coordinator: Broker, deadline_ns: int) -> bool:
        """Whether the coordinator knows the place. False: join again, under another name where this one is unknown."""
        reader = await coordinator.way("member").ask(heartbeat(self._group, self._place), deadline_ns)
        error = error_of(reader)
        if error == outcomes.UNKNOWN_MEMBER:
            self._place = NOBODY
        if error in (outcomes.UNKNOWN_MEMBER, outcomes.ILLEGAL_GENERATION, outcomes.REBALANCES):
            return False
        if error:
            raise Definite(f"no place in the group: {outcomes.name_of(error)}")
        return True

    async def _join(self, coordinator: Broker, deadline_ns: int) -> None:
        """Join, and hear of one's partitions. Raises Definite, Indefinite or Malformed."""
        way, name = coordinator.way("member"), self._place.name
        self._place = NOBODY
        found = read_joined(await way.ask(join(self._group, self._topic, name), deadline_ns))
        if found.error == outcomes.MEMBER_ID_REQUIRED:
            found = read_joined(await way.ask(join(self._group, self._topic, found.place.name), deadline_ns))
        if found.error:
            raise Definite(f"no place in the group: {outcomes.name_of(found.error)}")
        own = shares(found.names, self._partitions)
        error = error_of(await way.ask(sync(self._group, self._topic, found.place, own), deadline_ns))
        self._place = found.place._replace(generation=-1) if error else found.place
        if error:
            raise Definite(f"no place in the group: {outcomes.name_of(error)}")
