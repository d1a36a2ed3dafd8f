"""The way to a server: its HTTP API, and what it says of itself."""

import asyncio
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.system import ClusterView
from cluster.systems._shared.http import OK, Answer, Http, Request
from cluster.systems._shared.pool import Pool
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.nacos.outcomes import outcome
from cluster.systems.nacos.settings import ELECTION, GROUP, LOADS_AGAIN, NAMING

PORT: Final = 8848
RAFT_GROUPS: Final = MappingProxyType({GROUP: "nacos_config", NAMING: "naming_persistent_service_v2"})
"""By subject, what Nacos calls its Raft group."""
_SELF: Final = "/v3/admin/core/cluster/node/self"
_STATE: Final = "/v3/admin/core/state"
_TOLD: Final = MappingProxyType({ELECTION: "election_timeout_ms", LOADS_AGAIN: "data_load_retryDelayMs"})
"""By setting, what a server calls it where it tells its state."""
_READY: Final = "/v3/admin/core/state/readiness"
_END_OF_LINE: Final = b"\r\n"

DataT = TypeVar("DataT")


class Call(NamedTuple):
    """A request, and a header that goes with it; empty: none does."""

    request: Request
    header: str = ""


class CallHttp:
    """One connection's HTTP with headers; implements ``cluster.systems._shared.link.Codec``."""

    greeting = b""

    def __init__(self, host: str) -> None:
        self._http = Http(host)

    def encode(self, number: int, request: Call) -> bytes:
        """The request, with its header behind the first line; its answer is the next one."""
        first, rest = self._http.encode(number, request.request).split(_END_OF_LINE, 1)
        header = f"{request.header}\r\n" if request.header else ""
        return first + _END_OF_LINE + header.encode() + rest

    def feed(self, data: bytes) -> list[tuple[int, Answer]]:
        """The answer if it is whole now."""
        return self._http.feed(data)


class Result(msgspec.Struct):
    """What every answer is wrapped in; 0 for none that is an error."""

    code: int
    message: str = ""
    data: msgspec.Raw = msgspec.Raw(b"null")


class _Group(msgspec.Struct, rename="camel"):
    leader: str | None = None
    term: int | None = None
    raft_group_member: list[str] = []


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
        self._links: Pool[Call, Answer] = Pool(host, port, partial(CallHttp, host))

    async def get(self, path: str, form: Mapping[str, str], kind: type[DataT], deadline_ns: int) -> DataT:
        """One question, one answer. Raises as ``_call``, whose write it is not."""
        return await self._call(Request(_target(path, form)), kind, deadline_ns, write=False)

    async def change(
        self,
        path: str,
        form: Mapping[str, str],
        kind: type[DataT],
        deadline_ns: int,
        *,
        method: str = "POST",
        header: str = "",
    ) -> DataT:
        """One request that changes something, one answer. Raises as ``_call``.

        Args:
            path: what is asked, below Nacos' root.
            form: goes with it.
            kind: what the data of the answer is read as.
            deadline_ns: when there must be an answer.
            method: of HTTP.
            header: goes with it too.
        """
        return await self._call(
            Request(_target(path, form), method=method), kind, deadline_ns, write=True, header=header
        )

    async def change_v1(self, path: str, form: Mapping[str, str], deadline_ns: int, *, method: str) -> bytes:
        """One request of Nacos 1's API that changes something: what it says. Raises as ``_call``."""
        answer = await self._links.ask(Call(Request(_target(path, form), method=method)), deadline_ns)
        if answer.status != OK:
            self._links.close()
            raise outcome(answer.status, answer.body, write=True)
        return answer.body

    async def _call(
        self, request: Request, kind: type[DataT], deadline_ns: int, *, write: bool, header: str = ""
    ) -> DataT:
        """Ask once.

        Raises:
            Definite: nothing was changed. Indefinite: it may have been.
        """
        answer = await self._links.ask(Call(request, header), deadline_ns)
        if answer.status != OK:
            self._links.close()  # a server closes a connection on which it answered so
            raise outcome(answer.status, answer.body, write=write)
        try:
            result = msgspec.json.decode(answer.body, type=Result)
            if not result.code:
                return msgspec.json.decode(result.data, type=kind)
        except msgspec.DecodeError as error:
            raise (Indefinite if write else Definite)(f"malformed answer: {error}") from None
        raise outcome(answer.status, answer.body, write=write)

    async def readiness(self, deadline_ns: int) -> tuple[int, Result | None]:
        """Whether it serves: the status of HTTP, and the answer if it is one of Nacos. Raises as ``_call``."""
        answer = await self._links.ask(Call(Request(_target(_READY, {}))), deadline_ns)
        if answer.status != OK:
            self._links.close()
        try:
            return answer.status, msgspec.json.decode(answer.body, type=Result)
        except msgspec.DecodeError:
            return answer.status, None

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        self._links.close()


def _target(path: str, form: Mapping[str, str]) -> str:
    return f"/nacos{path}?{urlencode(form)}"


class Leader(NamedTuple):
    """What a server says of a Raft group: the address of the leader that it knows, in which term, and of how many."""

    address: str | None
    term: int
    servers: int


class State(NamedTuple):
    """What a server says: of each Raft group, by subject, and which Nacos it is."""

    leaders: Mapping[str, Leader]
    version: str


async def state_of(server: Server, deadline_ns: int) -> State:
    """Ask a server. Raises Definite if it does not say."""
    try:
        told = (await server.get(_SELF, {}, _Member, deadline_ns)).extend_info
    except Indefinite as error:
        raise Definite(str(error)) from None
    groups = told.raft_meta_data.meta_data_map
    leaders = {subject: _leader(groups.get(name, _Group())) for subject, name in RAFT_GROUPS.items()}
    return State(leaders, told.version)


def _leader(group: _Group) -> Leader:
    address = group.leader.rpartition(":")[0] if group.leader else None
    return Leader(address or None, group.term or 0, len(group.raft_group_member))


async def settings_of(server: Server, state: State, deadline_ns: int) -> dict[str, str]:
    """The settings that a server in this state has in effect. Raises Definite or Indefinite if it does not say."""
    told = await server.get(_STATE, {}, dict[str, str | None], deadline_ns)
    shown = {"cluster.nodes": str(state.leaders[GROUP].servers)}
    for setting, name in _TOLD.items():
        value = told.get(name)
        if value is None:
            raise Definite(f"nothing of {setting}")
        shown[setting] = value
    return shown


async def not_serving(server: Server, deadline_ns: int) -> str | None:
    """Why a server does not serve yet, in its own words; None if it says that its configuration and its naming do."""
    try:
        status, told = await server.readiness(deadline_ns)
    except (Definite, Indefinite) as error:
        return str(error)
    if status == OK and told is not None and not told.code:
        return None
    return f"status {status}: {told.message if told is not None else 'no answer of Nacos'}"


class Servers:
    """Every server, by name. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.links = {node.name: Server(node.address) for node in view.nodes}
        self.names = {node.address: node.name for node in view.nodes}

    async def ask(self, deadline_ns: int) -> Route | None:
        """The leader of the newest term that any server knows; None if no server answers."""
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
        leaders = [state.leaders[GROUP] for state in heard]
        newest = max((one for one in leaders if one.address), key=lambda one: one.term, default=None)
        leader = None if newest is None else self.names.get(newest.address or "")
        return route_over([(leader, self.links)])

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for server in self.links.values():
            server.close()
