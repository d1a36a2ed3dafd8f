"""The way to a server: its HTTP API, and what it says of itself."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.system import ClusterView
from cluster.systems._shared.http import OK, HttpLinks, Request
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.nacos.outcomes import outcome

PORT: Final = 8848
RAFT_GROUP: Final = "nacos_config"
"""The Raft group that keeps the configuration."""
_SELF: Final = "/v3/admin/core/cluster/node/self"

DataT = TypeVar("DataT")


class Result(msgspec.Struct):
    """What every answer is wrapped in; 0 for none that is an error."""

    code: int
    data: msgspec.Raw = msgspec.Raw(b"null")


class _Group(msgspec.Struct):
    leader: str | None = None
    term: int | None = None


class _Groups(msgspec.Struct, rename="camel"):
    meta_data_map: dict[str, _Group] = {}


class _Extended(msgspec.Struct, rename="camel"):
    raft_meta_data: _Groups = msgspec.field(default_factory=_Groups)
    version: str = "unknown version"


class _Member(msgspec.Struct, rename="camel"):
    extend_info: _Extended = msgspec.field(default_factory=_Extended)


class Server:
    """A server's HTTP API."""

    def __init__(self, host: str, port: int = PORT) -> None:
        self._links = HttpLinks(host, port)

    async def call(
        self, path: str, form: Mapping[str, str], kind: type[DataT], deadline_ns: int, *, write: bool = False
    ) -> DataT:
        """One request, one answer.

        Args:
            path: what is asked, below Nacos' root.
            form: goes with it.
            kind: what the data of the answer is read as.
            deadline_ns: when there must be one.
            write: it is a post, and changes something.

        Raises:
            Definite: nothing was changed. Indefinite: nobody knows.
        """
        request = Request(f"/nacos{path}?{urlencode(form)}", method="POST" if write else "GET")
        answer = await self._links.ask(request, deadline_ns)
        if answer.status != OK:
            raise outcome(answer.status, answer.body, write=write)
        try:
            result = msgspec.json.decode(answer.body, type=Result)
            if not result.code:
                return msgspec.json.decode(result.data, type=kind)
        except msgspec.DecodeError as error:
            raise (Indefinite if write else Definite)(f"malformed answer: {error}") from None
        raise outcome(answer.status, answer.body, write=write)

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        self._links.close()


class State(NamedTuple):
    """What a server says: the address of the leader that it knows, in which term, and which Nacos it is."""

    leader: str | None
    term: int
    version: str


async def state_of(server: Server, deadline_ns: int) -> State:
    """Ask a server. Raises Definite if it does not say."""
    try:
        told = (await server.call(_SELF, {}, _Member, deadline_ns)).extend_info
    except Indefinite as error:
        raise Definite(str(error)) from None
    group = told.raft_meta_data.meta_data_map.get(RAFT_GROUP, _Group())
    leader = group.leader.rpartition(":")[0] if group.leader else None
    return State(leader or None, group.term or 0, told.version)


class Servers:
    """Every server, by name. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.links = {node.name: Server(node.address) for node in view.nodes}
        self.names = {node.address: node.name for node in view.nodes}

    async def ask(self, deadline_ns: int) -> Route | None:
        """The leader of the newest term that anybody knows; None if nobody answers."""
        asked = [state_of(server, deadline_ns) for server in self.links.values()]
        states: list[Any] = await asyncio.gather(*asked, return_exceptions=True)
        heard = []
        for state in states:
            if isinstance(state, State):
                heard.append(state)
            elif not isinstance(state, Definite):
                raise state
        if not heard:
            return None
        newest = max((state for state in heard if state.leader), key=lambda state: state.term, default=None)
        leader = None if newest is None else self.names.get(newest.leader or "")
        return route_over([(leader, self.links)])

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for server in self.links.values():
            server.close()
