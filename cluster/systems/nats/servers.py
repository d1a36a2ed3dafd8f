"""Who leads each stream, as the servers say it of themselves (``/jsz``)."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from chaos.core.client import Definite, Indefinite
from cluster.system import ClusterView
from cluster.systems._shared.http import OK, HttpLinks, Request
from cluster.systems._shared.routing import Route, route_over
from cluster.systems.nats import streams
from cluster.systems.nats.launch import MONITOR_PORT

AnswerT = TypeVar("AnswerT")

_STREAMS: Final = "/jsz?streams=true&config=true"


class Replica(msgspec.Struct, frozen=True):
    """Another server that keeps a stream. ``current``: it has all that the leader has."""

    name: str = ""
    current: bool = False
    offline: bool = False


class Group(msgspec.Struct, frozen=True):
    """Who keeps a stream, as one of them knows it."""

    leader: str = ""
    replicas: list[Replica] = []


class Copy(msgspec.Struct, frozen=True):
    """What a server itself holds of a stream: how many messages, between which sequences."""

    messages: int = 0
    first_seq: int = 0
    last_seq: int = 0


class Stream(msgspec.Struct, frozen=True):
    """A stream that a server keeps."""

    name: str
    cluster: Group = Group()
    config: dict[str, Any] = {}
    state: Copy = Copy()


class Account(msgspec.Struct, frozen=True):
    """The streams of an account."""

    stream_detail: list[Stream] = []


class Meta(msgspec.Struct, frozen=True):
    """The group that all servers form."""

    leader: str = ""
    cluster_size: int = 0


class JetStreamState(msgspec.Struct, frozen=True):
    """What a server shows of its JetStream. ``config``: as it was started."""

    config: dict[str, Any] = {}
    meta_cluster: Meta = Meta()
    account_details: list[Account] = []

    def streams(self) -> dict[str, Stream]:
        """The streams that the server keeps, by name."""
        return {stream.name: stream for account in self.account_details for stream in account.stream_detail}


class Monitor:
    """The way to a server's monitoring."""

    def __init__(self, host: str, port: int = MONITOR_PORT) -> None:
        self._links = HttpLinks(host, port)

    async def shown(self, path: str, kind: type[AnswerT], deadline_ns: int) -> AnswerT:
        """What a server shows there. Raises Definite or Indefinite if it does not."""
        answer = await self._links.ask(Request(path), deadline_ns)
        try:
            if answer.status == OK:
                return msgspec.json.decode(answer.body, type=kind)
            raise Definite(f"{path}: status {answer.status}: {answer.body[:80].decode(errors='replace')}")
        except msgspec.DecodeError as error:
            raise Definite(f"malformed answer: {error}") from None

    async def jetstream(self, deadline_ns: int) -> JetStreamState:
        """What it shows of its JetStream. Raises as ``shown``."""
        return await self.shown(_STREAMS, JetStreamState, deadline_ns)

    def close(self) -> None:
        """Drop every connection that is not in use; safe to call twice."""
        self._links.close()


class Heard(NamedTuple):
    """What a server said: its name, and the streams that it keeps."""

    node: str
    streams: Mapping[str, Stream]


class Servers:
    """All servers, asked as one. Implements ``cluster.systems._shared.routing.RouteSource``."""

    def __init__(self, view: ClusterView) -> None:
        self.monitors = {node.name: Monitor(node.address) for node in view.nodes}
        self.streams = streams.names(view.mark, view.settings, view.keys)
        self._keepers = [one.nodes for one in streams.subjects(view.settings, view.keys)]

    async def ask(self, deadline_ns: int) -> Route | None:
        """Who leads each stream by the word of most that answer; None if nobody does."""
        answers = await asyncio.gather(*(self._heard(name, deadline_ns) for name in self.monitors))
        heard = [one for one in answers if one is not None]
        if not heard:
            return None
        leaders = [leader_of(heard, stream) for stream in self.streams]
        return route_over(zip(leaders, self._keepers, strict=True))

    async def _heard(self, name: str, deadline_ns: int) -> Heard | None:
        try:
            return Heard(name, (await self.monitors[name].jetstream(deadline_ns)).streams())
        except (Definite, Indefinite):
            return None

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        for monitor in self.monitors.values():
            monitor.close()


def leader_of(heard: Sequence[Heard], stream: str) -> str | None:
    """Whom most servers name as the leader of a stream; of equally many, one that says it of itself. Pure."""
    named = [(one.node, one.streams[stream].cluster.leader) for one in heard if stream in one.streams]
    votes = Counter(leader for _, leader in named if leader)
    own = {node for node, leader in named if node == leader}
    return max(votes, key=lambda leader: (votes[leader], leader in own), default=None)
