"""One logical client: a register is a configuration, published and read by HTTP; an instance is a lease.

A confirmed read asks for the configuration as the console does: the server asks the leader of its Raft group how far
the log is, and reads its database once it has all that. A local read is what clients of Nacos get: the copy that a
server keeps beside its database and brings up to date a little later. A compare-and-set is a publication that names the
MD5 of what must be there. Nacos would publish where nothing is; so every register holds something before the load.
"""

import hashlib
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.coordination import lease
from chaos.models.objects import register
from chaos.models.objects.answers import Found
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.nacos.instances import Instances
from cluster.systems.nacos.outcomes import NOT_FOUND
from cluster.systems.nacos.servers import Server, Servers
from cluster.systems.nacos.settings import CONFIRMED, LOOK_AFTER, NAMESPACE, NAMING_API, READS

CONFIG: Final = "/v3/admin/cs/config"
COPY: Final = "/v3/client/cs/config"
NOTHING: Final = "-"
"""What a register holds before the first write."""
_CONFIG_GROUP: Final = "chaos"


class _Config(msgspec.Struct):
    content: str


class NacosClient(RoutedClient[Server]):
    """One logical client of Nacos."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        servers = Servers(view)
        super().__init__(view, number, clients, seed, servers.links, servers, "the servers")
        self._mark, self._namespace = view.mark, view.settings[NAMESPACE]
        self._path = CONFIG if view.settings[READS] == CONFIRMED else COPY
        self._instances = Instances(view.mark, int(view.settings[LOOK_AFTER]), view.settings[NAMING_API])

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        server = self._links[node]
        if isinstance(op.f, lease.F):
            received.result = await self._instances.perform(server, op, deadline_ns)
            return
        which = register_at(self._mark, op.key, self._namespace)
        if op.f is register.F.READ:
            received.result = await self._read(server, which, deadline_ns)
            return
        header = "" if op.f is register.F.WRITE else f"casMd5: {_md5(str(op.argument.expected))}"
        await publish(server, which, str(op.argument.value), deadline_ns, header)

    async def _read(self, server: Server, which: dict[str, str], deadline_ns: int) -> Found:
        """What a configuration holds; nothing if it is not there. Raises Definite or Indefinite."""
        try:
            content = (await server.get(self._path, which, _Config, deadline_ns)).content
            return Found(None if content == NOTHING else int(content))
        except ValueError as error:
            raise Definite(f"malformed answer: {error}") from None
        except Definite as error:
            if str(error) != NOT_FOUND:
                raise
            return Found(None)


def register_at(mark: str, key: int, namespace: str) -> dict[str, str]:
    """The configuration that is a register of a run. Pure."""
    return {"dataId": f"{mark}.{key}", "groupName": _CONFIG_GROUP, "namespaceId": namespace}


async def publish(server: Server, which: dict[str, str], content: str, deadline_ns: int, header: str = "") -> None:
    """Publish a configuration. Raises Definite or Indefinite."""
    form = {**which, "content": content, "type": "text"}
    if not await server.change(CONFIG, form, bool, deadline_ns, header=header):
        raise Indefinite("it was not published, and nothing says why")


def _md5(content: str) -> str:
    return hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()
