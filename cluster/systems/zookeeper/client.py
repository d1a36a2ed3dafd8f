"""One logical client: registers are nodes; an element of a set, and what is added to a counter, is a node of its own.

ZooKeeper answers reads from the copy of the server that is asked, which may be old. So a read is preceded by a sync on
the same connection, which lets the server catch up with its leader, unless ``client.sync`` is false.
"""

from typing import Final

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.objects import counter, register
from chaos.models.objects import set as sets
from chaos.models.objects.answers import Found
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems._shared.link import Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.servers import Ensemble, Server

KINDS: Final = {register.F: "registers", sets.F: "sets", counter.F: "counters"}


class ZooKeeperClient(RoutedClient[Server]):
    """One logical client of ZooKeeper."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        servers = {node.name: Server(node.address) for node in view.nodes}
        super().__init__(view, number, clients, seed, servers, Ensemble(servers), "the servers")
        self._mark = view.mark
        self._sync = view.settings["client.sync"] == "true"
        self._added: dict[str, int] = {}

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        server, path = self._links[node], f"/{self._mark}/{KINDS[type(op.f)]}/{op.key}"
        try:
            if op.f is register.F.READ:
                received.result = Found(_number((await self._read(server, path, deadline_ns)).data))
            elif op.f is register.F.WRITE:
                data = str(op.argument.value).encode()
                await server.call(jute.set_data(path, data), deadline_ns, write=True)
            elif op.f is register.F.CAS:
                await self._cas(server, path, op.argument, deadline_ns)
            elif op.f is sets.F.ADD:
                await server.call(jute.create(f"{path}/{op.argument.element}"), deadline_ns, write=True)
            elif op.f is counter.F.ADD:
                await self._count(server, path, op, deadline_ns)
            else:
                names = await self._children(server, path, deadline_ns)
                received.result = sets.Elements([int(name) for name in names]) if op.f is sets.F.READ else _sum(names)
        except Malformed as error:
            changes = op.f not in (register.F.READ, sets.F.READ, counter.F.READ)
            raise (Indefinite if changes else Definite)(f"malformed answer: {error}") from None

    async def _read(self, server: Server, path: str, deadline_ns: int) -> jute.Node:
        if self._sync:
            await server.call(jute.sync(path), deadline_ns)
        return jute.node_of((await server.call(jute.get_data(path), deadline_ns)).body)

    async def _children(self, server: Server, path: str, deadline_ns: int) -> list[str]:
        if self._sync:
            await server.call(jute.sync(path), deadline_ns)
        return jute.names_of((await server.call(jute.get_children(path), deadline_ns)).body)

    async def _cas(self, server: Server, path: str, asked: register.Cas, deadline_ns: int) -> None:
        """Write if the version is still that under which the expected value was read."""
        seen = jute.node_of((await server.call(jute.get_data(path), deadline_ns)).body)
        if _number(seen.data) != asked.expected:
            raise Definite("the comparison does not hold")
        await server.call(jute.set_data(path, str(asked.value).encode(), seen.version), deadline_ns, write=True)

    async def _count(self, server: Server, path: str, op: Invocation, deadline_ns: int) -> None:
        """Make a node that says by its name who added what, the how manieth of this process."""
        own = f"{path}/{op.process}"
        number = self._added[own] = self._added.get(own, 0) + 1
        await server.call(jute.create(f"{own}-{number}:{op.argument.amount}"), deadline_ns, write=True)


def _number(data: bytes) -> int | None:
    """What a register holds; nothing before it was written."""
    try:
        return int(data) if data else None
    except ValueError:
        raise Malformed(f"a register that holds {data[:20]!r}") from None


def _sum(names: list[str]) -> Found:
    """The sum of what was added; nothing if nothing was."""
    return Found(sum(int(name.partition(":")[2]) for name in names) if names else None)
