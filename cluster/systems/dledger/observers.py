"""The nodes asked about themselves, by the observer that runs inside each (``DLedgerNode.java``), and as one route."""

import asyncio
import re
from collections.abc import Mapping
from typing import Final, Literal, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.system import ClusterView
from cluster.systems._shared.http import OK, HttpLinks, Request
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.dledger.launch import OBSERVER_PORT
from cluster.systems.dledger.ledger import Entry

AnswerT = TypeVar("AnswerT")
LEADS: Final = "LEADER"
_JAR: Final = re.compile(r"dledger-([^/]+)\.jar$")


class State(msgspec.Struct, frozen=True):
    """What a node says of itself. ``end``, ``committed``: the last index that it has, and knows to be committed."""

    role: str
    term: int
    leader: str | None = None
    end: int = -1
    committed: int = -1
    jar: str = ""
    settings: dict[str, str] = {}

    @property
    def version(self) -> str:
        """The version of DLedger, by the name of its jar."""
        found = _JAR.search(self.jar)
        return found[1] if found is not None else "of an unknown version"


class Page(msgspec.Struct, frozen=True):
    """Entries of a node's own log. ``begin``: its first index; ``last``: the last one that may be asked for."""

    begin: int
    last: int
    entries: list[Entry] = []


class Observer:
    """The way to the observer inside a node."""

    def __init__(self, host: str, port: int = OBSERVER_PORT) -> None:
        self._links = HttpLinks(host, port)

    async def state(self, deadline_ns: int) -> State:
        """What the node knows of itself. Raises Definite or Indefinite if it does not say."""
        return await self._ask("/state", State, deadline_ns)

    async def page(self, begin: int, count: int, to: Literal["committed", "end"], deadline_ns: int) -> Page:
        """So many entries of the node's own log from an index on, to its end or to what it knows to be committed.

        Raises:
            Definite, Indefinite: it does not say.
        """
        return await self._ask(f"/entries?from={begin}&count={count}&to={to}", Page, deadline_ns)

    async def _ask(self, path: str, kind: type[AnswerT], deadline_ns: int) -> AnswerT:
        answer = await self._links.ask(Request(path), deadline_ns)
        try:
            if answer.status == OK:
                return msgspec.json.decode(answer.body, type=kind)
            raise Definite(f"status {answer.status}: {answer.body[:80].decode(errors='replace')}")
        except msgspec.DecodeError as error:
            raise Definite(f"malformed answer: {error}") from None

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        self._links.close()


class Observers:
    """Every node's observer. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.by_name = {node.name: Observer(node.address) for node in view.nodes}

    async def ask(self, deadline_ns: int) -> Route | None:
        """Who leads in the newest term, of those that say that they do; None if nobody answers."""
        states = await asyncio.gather(*(self._heard(name, deadline_ns) for name in self.by_name))
        heard = {name: state for name, state in zip(self.by_name, states, strict=True) if state is not None}
        if not heard:
            return None
        leader = leader_of(heard)
        return route_over([(leader, self.by_name)])

    async def _heard(self, name: str, deadline_ns: int) -> State | None:
        try:
            return await self.by_name[name].state(deadline_ns)
        except (Definite, Indefinite):
            return None

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for observer in self.by_name.values():
            observer.close()


def leader_of(heard: Mapping[str, State]) -> str | None:
    """Who leads in the newest term, of those that say that they do. Pure."""
    leaders = [(state.term, name) for name, state in heard.items() if state.role == LEADS]
    return max(leaders, default=(0, None))[1]
