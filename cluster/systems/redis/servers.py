"""The way to a server or a sentinel, and who leads as they say it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from chaos.core.client import Definite, Indefinite
from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView
from cluster.systems._shared.pool import Pool
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.redis import slots
from cluster.systems.redis.launch import MASTER, PORT, SENTINEL_PORT, SERVER, WATCHER
from cluster.systems.redis.outcomes import outcome
from cluster.systems.redis.resp import Commands, Refusal, Reply, Resp

AnsweredT = TypeVar("AnsweredT")


class Server(Pool[Commands, list[Reply]]):
    """The way to a node."""

    def __init__(self, node: NodeInfo) -> None:
        super().__init__(node.address, SENTINEL_PORT if node.role == WATCHER else PORT, Resp)

    async def call(self, *commands: tuple[str | int, ...], deadline_ns: int, write: bool = False) -> list[Reply]:
        """Send commands together; their replies.

        Args:
            commands: each with its arguments.
            deadline_ns: when to give up.
            write: they change something.

        Raises:
            Definite: nothing was changed, by the first of them that was refused.
            Indefinite: nobody knows.
        """
        replies = await self.ask(tuple(commands), deadline_ns)
        for reply in replies:
            if isinstance(reply, Refusal):
                raise outcome(reply.text, write=write)
        return replies


class Watched(NamedTuple):
    """What a sentinel knows of the master. ``replicas``, ``others``: so many of them and of other sentinels."""

    master: str | None
    epoch: int
    replicas: int
    others: int


class Servers:
    """Every node, by name. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.links = {node.name: Server(node) for node in view.nodes}
        self.servers = tuple(node.name for node in view.of_role(SERVER))
        self.watchers = tuple(node.name for node in view.of_role(WATCHER))
        self._by_address = {node.address: node.name for node in view.of_role(SERVER)}
        self._mode = view.settings["cluster.mode"]

    def named(self, address: str) -> str | None:
        """The server that has an address."""
        return self._by_address.get(address)

    async def watched(self, name: str, deadline_ns: int) -> Watched:
        """Ask a sentinel.

        While it fails over, SENTINEL MASTER already has the epoch of the new master beside the address of the old one.

        Raises:
            Definite: it does not say.
        """
        asked = (("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER), ("SENTINEL", "MASTER", MASTER))
        address, reply = await self.links[name].call(*asked, deadline_ns=deadline_ns)
        said = fields(reply)
        try:
            numbers = [int(said[key]) for key in ("config-epoch", "num-slaves", "num-other-sentinels")]
            return Watched(self.named(str(address[0])) if isinstance(address, list) else None, *numbers)
        except (KeyError, ValueError) as error:
            raise Definite(f"malformed answer: {error}") from None

    async def members(self, name: str, deadline_ns: int) -> list[slots.Member]:
        """Ask a server of a cluster who is in it. Raises Definite if it does not say."""
        (reply,) = await self.links[name].call(("CLUSTER", "NODES"), deadline_ns=deadline_ns)
        try:
            return slots.members(str(reply))
        except ValueError as error:
            raise Definite(str(error)) from None

    async def ask(self, deadline_ns: int) -> Route | None:
        """Who leads by the newest epoch among those that answer; None if nobody does."""
        if self._mode == "single":
            return route_over([(self.servers[0], self.servers[:1])])
        if self._mode == "sentinel":
            heard = await _heard(self.watchers, lambda name: self.watched(name, deadline_ns))
            return self._route([max(heard, key=lambda one: one.epoch).master]) if heard else None
        told = await _heard(self.servers, lambda name: self.members(name, deadline_ns))
        return self._route(self.leaders([member for one in told for member in one])) if told else None

    def leaders(self, members: Sequence[slots.Member]) -> list[str | None]:
        """By shard, the master of the newest epoch that serves its slots. Pure."""
        out: list[str | None] = []
        for shard in range(slots.SHARDS):
            first, _ = slots.first_and_last(shard)
            own = [one for one in members if one.leads and one.first_slot == first]
            out.append(self.named(max(own, key=lambda one: one.epoch).host) if own else None)
        return out

    def _route(self, leaders: Sequence[str | None]) -> Route:
        return route_over(zip(leaders, groups_of(self.servers, self._mode), strict=True))

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for link in self.links.values():
            link.close()


def groups_of(servers: Sequence[str], mode: str) -> list[tuple[str, ...]]:
    """The servers that keep copies of the same keys, subject by subject. Pure."""
    if mode != "cluster":
        return [tuple(servers)]
    return [tuple(servers[shard :: slots.SHARDS]) for shard in range(slots.SHARDS)]


def fields(reply: Reply) -> dict[str, str]:
    """A reply of names and values in turn. Pure."""
    words = [str(word) for word in reply] if isinstance(reply, list) else []
    return dict(zip(words[::2], words[1::2], strict=False))


def info(reply: Reply) -> dict[str, str]:
    """The lines ``name:value`` of INFO. Pure."""
    pairs = (line.partition(":") for line in str(reply).splitlines() if ":" in line)
    return {name: value.strip() for name, _, value in pairs}


async def _heard(names: Sequence[str], ask: Callable[[str], Awaitable[AnsweredT]]) -> list[AnsweredT]:
    """The answers of those that give one."""
    answers = await asyncio.gather(*map(ask, names), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, Definite | Indefinite):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]
