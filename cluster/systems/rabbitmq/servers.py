"""The nodes asked about themselves, by the observer that runs inside each (``observer.erl``), and as one route."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.system import ClusterView
from cluster.systems._shared.link import Malformed
from cluster.systems._shared.pool import Pool
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.rabbitmq import queues
from cluster.systems.rabbitmq.launch import OBSERVER_PORT, node_name

AnswerT = TypeVar("AnswerT")
_LONGEST: Final = 1 << 20


class Lines:
    """A line out, a line back; implements ``cluster.systems._shared.link.Codec``."""

    greeting = b""

    def __init__(self) -> None:
        self._number = 0
        self._data = b""

    def encode(self, number: int, request: str) -> bytes:
        """The request; the next line is its answer."""
        self._number = number
        return f"{request}\n".encode()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The answer if it is whole now."""
        self._data += data
        if len(self._data) > _LONGEST:
            raise Malformed("an answer without an end")
        if not self._data.endswith(b"\n"):
            return []
        answer, self._data = self._data, b""
        return [(self._number, answer)]


class Queue(msgspec.Struct, frozen=True):
    """A queue as a node knows it. ``leader`` and ``members``: names of Erlang nodes; ``term``: of its Raft group."""

    name: str
    type: str
    leader: str = "none"
    term: int = 0
    members: list[str] = []


class State(msgspec.Struct, frozen=True):
    """What a node says of itself. ``running``: whom it runs with; ``error``: why it could not say."""

    version: str = ""
    serves: bool = False
    running: list[str] = []
    queues: list[Queue] = []
    error: str = ""

    def queue(self, name: str) -> Queue | None:
        """One of its queues."""
        return next((queue for queue in self.queues if queue.name == name), None)


class Shown(msgspec.Struct, frozen=True):
    """The lines of the files that a node started with, values in effect, and after how long silence is death."""

    lines: dict[str, str] = {}
    values: dict[str, str] = {}
    ticktime: int = 0
    error: str = ""


class Done(msgspec.Struct, frozen=True):
    """What became of a change."""

    set: str = ""
    error: str = ""


class Observer:
    """The way to the observer inside a node."""

    def __init__(self, host: str, port: int = OBSERVER_PORT) -> None:
        self._pool = Pool[str, bytes](host, port, Lines)

    async def ask(self, request: str, kind: type[AnswerT], deadline_ns: int) -> AnswerT:
        """Ask once. Raises Definite or Indefinite if there is no answer."""
        answer = await self._pool.ask(request, deadline_ns)
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.DecodeError as error:
            raise Definite(f"malformed answer: {error}") from None

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        self._pool.close()


class Heard(NamedTuple):
    """What a node said, and its name."""

    node: str
    state: State


class Servers:
    """All nodes, asked as one. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.observers = {node.name: Observer(node.address) for node in view.nodes}
        self.names = {node_name(node): node.name for node in view.nodes}
        self.queues = tuple(queues.name_of(view.mark, key) for key in range(view.keys))
        self._keepers = [queues.keepers(key, view.settings) for key in range(view.keys)]

    async def ask(self, deadline_ns: int) -> Route | None:
        """Who leads each queue by the word of most nodes that answer; None if nobody does."""
        answers = await asyncio.gather(*(self._heard(name, deadline_ns) for name in self.observers))
        heard = [one for one in answers if one is not None]
        if not heard:
            return None
        leaders = [self.names.get(leader_of(heard, queue) or "") for queue in self.queues]
        return route_over(zip(leaders, self._keepers, strict=True))

    async def _heard(self, name: str, deadline_ns: int) -> Heard | None:
        try:
            state = await self.observers[name].ask("state", State, deadline_ns)
        except (Definite, Indefinite):
            return None
        return Heard(name, state) if state.serves else None

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for observer in self.observers.values():
            observer.close()


def leader_of(heard: Sequence[Heard], queue: str) -> str | None:
    """The Erlang node that most nodes name as the leader of a queue; of equally many, the first by name. Pure."""
    known = [found.leader for one in heard if (found := one.state.queue(queue)) is not None]
    votes = Counter(leader for leader in known if leader != "none")
    return max(sorted(votes), key=lambda leader: votes[leader], default=None)
