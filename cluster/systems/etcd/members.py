"""Who leads, as the members say it."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.systems._shared.routing import Route, Served
from cluster.systems.etcd.gateway import Gateway

_STATUS: Final = "/v3/maintenance/status"


class _Header(msgspec.Struct, frozen=True):
    member_id: int


class Status(msgspec.Struct, frozen=True):
    """What a member says of itself. ``leader``: a member's number, 0 if it knows of none."""

    header: _Header
    version: str = ""
    leader: int = 0
    term: int = msgspec.field(name="raftTerm", default=0)


class Members:
    """All members, asked as one. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, gateways: Mapping[str, Gateway]) -> None:
        self._gateways = gateways
        self._names: dict[int, str] = {}

    async def status(self, name: str, deadline_ns: int) -> Status:
        """Ask one. Raises Definite or Indefinite if it does not answer."""
        said = await self._gateways[name].call(_STATUS, {}, Status, deadline_ns)
        self._names[said.header.member_id] = name
        return said

    def leader(self, said: Status) -> str | None:
        """The name of the leader that a member knows of, if that one has ever answered."""
        return self._names.get(said.leader)

    async def ask(self, deadline_ns: int) -> Route | None:
        """The leader of the newest term among the answers of a majority; None if there are too few."""
        asked = [asyncio.ensure_future(self.status(name, deadline_ns)) for name in self._gateways]
        heard: list[Status] = []
        try:
            for answered in asyncio.as_completed(asked):
                try:
                    heard.append(await answered)
                except (Definite, Indefinite):
                    continue
                leader = self.leader(max(heard, key=lambda said: (said.term, said.leader != 0)))
                if len(heard) > len(asked) // 2 and leader is not None:
                    return Route((Served(leader, tuple(name for name in self._gateways if name != leader)),))
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        return Route((Served(None, tuple(self._gateways)),)) if heard else None

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for gateway in self._gateways.values():
            gateway.close()
