"""One logical client: registers are nodes; elements of sets, additions to counters and ids are nodes of their own.

ZooKeeper answers reads from the copy of the server that is asked, which may be old. So a read is preceded by a sync on
the same connection, which lets the server catch up with its leader, or by a write (``client.sync``). Only a write
proves that a majority still follows: a leader answers the sync of its own clients at once. A node that is not there
holds nothing: what a run needs was made before the load, so a read that misses it tells of a loss.
"""

from collections.abc import Awaitable, Callable
from itertools import chain, zip_longest
from typing import Any, Final

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation, Word
from chaos.models.coordination import lease, lock, semaphore, unique_ids, watch
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from chaos.models.queues import total_queue
from chaos.models.transactions import bank
from chaos.models.transactions import words as transactions
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems._shared.link import Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.accounts import Accounts
from cluster.systems.zookeeper.leases import Leases
from cluster.systems.zookeeper.locks import Locks
from cluster.systems.zookeeper.queues import Queues
from cluster.systems.zookeeper.reads import BARRIER, agree, names_below, node_at
from cluster.systems.zookeeper.semaphores import Semaphores
from cluster.systems.zookeeper.servers import Ensemble, Server
from cluster.systems.zookeeper.settings import OBSERVER, VOTER
from cluster.systems.zookeeper.transactions import Transactions
from cluster.systems.zookeeper.watches import Watches

_Perform = Callable[[Server, Invocation, int], Awaitable[Any]]
"""Do an operation at a server before its deadline."""

_Fill = Callable[[Server, Invocation, int, Received], Awaitable[None]]
"""Do an operation likewise, and note what came by and by."""

KINDS: Final = {register.F: "registers", sets.F: "sets", counter.F: "counters", unique_ids.F: "ids"}


class ZooKeeperClient(RoutedClient[Server]):
    """One logical client of ZooKeeper."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        servers = {node.name: Server(node.address) for node in view.nodes}
        source = Ensemble(servers)
        super().__init__(view, number, clients, seed, servers, source, "the servers", (pinning_order(view),))
        self._mark = view.mark
        self._sync = view.settings["client.sync"]
        root = f"/{view.mark}"
        self._leases = Leases(root, attach=view.settings["client.renew"] == "attach")
        self._others: dict[type[Word], _Perform] = {
            transactions.F: Transactions(root, self._sync).perform,
            bank.F: Accounts(root, self._sync).perform,
            lock.F: Locks(root, fencing=view.settings["client.fencing"] == "true").perform,
            semaphore.F: Semaphores(root, count_first=view.settings["client.countFirst"] == "true").perform,
            lease.F: self._leases.perform,
        }
        self._fills: dict[type[Word], _Fill] = {
            total_queue.F: Queues(root, self._sync).perform,
            watch.F: Watches(root).perform,
        }
        self._added: dict[str, int] = {}

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        if (fill := self._fills.get(type(op.f))) is not None:
            await fill(self._links[node], op, deadline_ns, received)
            return
        if (other := self._others.get(type(op.f))) is not None:
            received.result = await other(self._links[node], op, deadline_ns)
            return
        server, path = self._links[node], f"/{self._mark}/{KINDS[type(op.f)]}/{op.key}"
        if op.f is register.F.WRITE:
            await server.call(jute.set_data(path, _data(op.argument.value)), deadline_ns, write=True)
        elif op.f is register.F.CAS:
            await self._cas(server, path, op.argument, deadline_ns)
        elif op.f is sets.F.ADD:
            await server.call(jute.create(f"{path}/{op.argument.element}"), deadline_ns, write=True)
        elif op.f is counter.F.ADD:
            await self._count(server, path, op, deadline_ns)
        elif op.f is unique_ids.F.GENERATE:
            received.result = await _next_id(server, path, deadline_ns)
        else:
            received.result = await self._read(server, path, op, deadline_ns)

    async def refresh(self) -> None:
        """Drop every connection, those of sessions too, and the route."""
        await super().refresh()
        self._leases.close()

    async def _read(self, server: Server, path: str, op: Invocation, deadline_ns: int) -> Found | sets.Elements:
        """What a read finds. Raises Definite or Indefinite."""
        if self._sync == "true":
            await server.call(jute.sync(path), deadline_ns)
        elif self._sync == "write":
            await agree(server, f"/{self._mark}/{BARRIER}", deadline_ns)
        try:
            if op.f is register.F.READ:
                node = await node_at(server, path, deadline_ns)
                return Found(_number(node.data) if node is not None else None)
            names = await names_below(server, path, deadline_ns)
            if op.f is sets.F.READ:
                return sets.Elements([int(name) for name in names])
            amounts = [int(name.partition(":")[2]) for name in names]
            return Found(sum(amounts) if amounts else None)
        except (Malformed, ValueError) as error:
            raise Definite(f"malformed answer: {error}") from None

    async def _cas(self, server: Server, path: str, asked: register.Cas, deadline_ns: int) -> None:
        """Write if the version is still that under which the expected value was read.

        Until the write is sent, whatever happens changes nothing.
        """
        try:
            seen = await node_at(server, path, deadline_ns)
            if seen is None or _number(seen.data) != asked.expected:
                raise Definite("the comparison does not hold")
        except (Indefinite, Malformed, ValueError) as error:
            raise Definite(f"not compared: {error}") from None
        await server.call(jute.set_data(path, _data(asked.value), seen.version), deadline_ns, write=True)

    async def _count(self, server: Server, path: str, op: Invocation, deadline_ns: int) -> None:
        """Make a node whose name says who added what, and which of this process' additions it is, from 1."""
        own = f"{path}/{op.process}"
        number = self._added[own] = self._added.get(own, 0) + 1
        await server.call(jute.create(f"{own}-{number}:{op.argument.amount}"), deadline_ns, write=True)


def pinning_order(view: ClusterView) -> list[str]:
    """The servers in the order in which clients are pinned to them: voters and observers in turn. Pure."""
    by_role = ([node.name for node in view.of_role(role)] for role in (VOTER, OBSERVER))
    return [name for name in chain.from_iterable(zip_longest(*by_role)) if name is not None]


async def _next_id(server: Server, path: str, deadline_ns: int) -> unique_ids.Id:
    """The number at the end of a new sequential node. Raises Definite or Indefinite."""
    answer = await server.call(jute.create(f"{path}/", mode=jute.SEQUENTIAL), deadline_ns, write=True)
    try:
        return unique_ids.Id(int(jute.path_of(answer.body).rpartition("/")[2]))
    except (Malformed, ValueError) as error:
        raise Indefinite(f"malformed answer: {error}") from None


def _data(value: int) -> bytes:
    return str(value).encode()


def _number(data: bytes) -> int | None:
    """What a register holds; nothing before it was written. Raises ValueError if that is no number."""
    return int(data) if data else None
