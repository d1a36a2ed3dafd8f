"""Who leads, as the members say it."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.etcd.gateway import Gateway

_VARIABLES: Final = "/debug/vars"


class Raft(msgspec.Struct, frozen=True):
    """What a member's Raft knows, all at one moment. ``id``, ``lead``: members' numbers; ``lead`` "0": of no leader.

    ``/v3/maintenance/status`` has the leader of now beside the term of what was applied last: a member that has just
    been elected claims the term of its predecessor there (seen; EtcdServer.setTerm of 3.4.23).
    """

    id: str
    lead: str
    term: int


class Variables(msgspec.Struct, frozen=True):
    """What a member's process shows of itself. ``cmdline``: how it was started."""

    cmdline: tuple[str, ...]
    raft: Raft = msgspec.field(name="raft.status")


class Members:
    """All members, asked as one. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, gateways: Mapping[str, Gateway]) -> None:
        self._gateways = gateways
        self._names: dict[str, str] = {}

    async def variables(self, name: str, deadline_ns: int) -> Variables:
        """Ask one. Raises Definite or Indefinite if it does not answer."""
        said = await self._gateways[name].call(_VARIABLES, None, Variables, deadline_ns)
        self._names[said.raft.id] = name
        return said

    def leader(self, said: Raft) -> str | None:
        """The name of the leader that a member knows of, if that one has ever answered."""
        return self._names.get(said.lead)

    async def ask(self, deadline_ns: int) -> Route | None:
        """The leader of the newest term among the answers of a majority; None if there are too few."""
        asked = [asyncio.ensure_future(self.variables(name, deadline_ns)) for name in self._gateways]
        heard: list[Raft] = []
        try:
            for answered in asyncio.as_completed(asked):
                try:
                    heard.append((await answered).raft)
                except (Definite, Indefinite):
                    continue
                leader = self.leader(max(heard, key=lambda said: (said.term, said.lead != "0")))
                if len(heard) > len(asked) // 2 and leader is not None:
                    return route_over([(leader, self._gateways)])
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        return route_over([(None, self._gateways)]) if heard else None

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for gateway in self._gateways.values():
            gateway.close()
