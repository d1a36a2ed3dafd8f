"""What one logical client is on every system: it follows the route or stays on one broker, and answers in time.

Whatever needs the leader, and so do polls, goes to the leader that the route names for the key, or to the broker that
the client is pinned to, whatever that one is now: where several groups serve keys, to one of each. Slave reads go to a
replica that the route does not call the leader, and a replica's own copy is asked of the replica that is named. How a
system is asked is a subclass' affair: it performs the operation at the node that was chosen.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

from chaos.basics.rand import run_hash, stream
from chaos.core.client import Definite, Received
from chaos.core.op import Invocation
from chaos.models.log.operations import ReadCopy
from chaos.models.log.words import F
from cluster.system import ClusterView
from cluster.systems._shared.routing import RoutePoller, RouteSource, pinned_node

_OWN_MARGIN_NS: Final = 5_000_000  # answer a little before whoever waits for us gives up


class Closable(Protocol):
    """The way to a node, as far as every system's is the same."""

    def close(self) -> None:
        """Drop every connection; safe to call twice."""
        ...


LinkT = TypeVar("LinkT", bound=Closable)


class RoutedClient(ABC, Generic[LinkT]):
    """One attempt and one deadline per operation, ok / fail / info and nothing swallowed.

    Implements ``chaos.core.client.Client``.
    """

    def __init__(
        self,
        view: ClusterView,
        number: int,
        clients: int,
        seed: int,
        links: Mapping[str, LinkT],
        source: RouteSource,
        whom: str,
        groups: Sequence[Sequence[str]] = (),
    ) -> None:
        """A client.

        Args:
            view: the cluster.
            number: which of the clients it is.
            clients: how many there are.
            seed: of its draws.
            links: the way to each broker by name.
            source: as for ``RoutePoller``.
            whom: likewise.
            groups: the brokers of each subject of the route, in its order; by default one of all.
        """
        settings = view.settings
        self._links = dict(links)
        self._names = [node.name for node in view.nodes]
        brokers = groups or ([*links],)
        self._pinned = [pinned_node(settings["client.routing"], number, clients, own) for own in brokers]
        self.pinned_to = self._pinned[0]
        self._route = RoutePoller(source, whom, float(settings["client.routePollInterval"]))
        self._run = run_hash(view.run_id)
        self._random = stream(seed, "client", number)

    async def invoke(self, op: Invocation, received: Received) -> None:
        """Try the operation once, before its deadline."""
        deadline_ns = op.deadline_ns - _OWN_MARGIN_NS
        received.node = await self._node(op, deadline_ns)
        await self._perform(op, received.node, deadline_ns, received)

    @abstractmethod
    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        """Ask the node; returning means ok. Raises Definite or Indefinite."""

    async def _node(self, op: Invocation, deadline_ns: int) -> str:
        """Where the operation goes. Raises Definite if there is no such node in the route."""
        pinned = self._pinned[op.key % len(self._pinned)]
        if op.f is F.REPLICA:
            copy: ReadCopy = op.argument
            return self._names[copy.node]
        if op.f is not F.SLAVE_READ:
            if pinned is not None:
                return pinned
            leader = (await self._route.route(deadline_ns)).leader(op.key)
            if leader is None:
                raise Definite("no leader in the route")
            return leader
        slaves = (await self._route.route(deadline_ns)).followers(op.key)
        if not slaves:
            raise Definite("no slave in the route")
        return pinned if pinned in slaves else self._random.choice(slaves)

    async def refresh(self) -> None:
        """Drop every connection and the route."""
        await self._route.stop()
        for link in self._links.values():
            link.close()

    async def close(self) -> None:
        """Release everything; safe to call twice."""
        await self.refresh()
