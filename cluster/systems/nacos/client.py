"""One logical client: a register is a configuration, published and read by HTTP.

A confirmed read asks for the configuration as the console does: the server asks the leader of its Raft group how far
the log is, and reads its database once it has all that. A local read is what clients of Nacos get: the copy that a
server keeps beside its database and brings up to date a little later.
"""

from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.objects import register
from chaos.models.objects.answers import Found
from cluster.system import ClusterView
from cluster.systems._shared.client import RoutedClient
from cluster.systems.nacos.outcomes import NOT_FOUND, TABLE
from cluster.systems.nacos.servers import Server, Servers
from cluster.systems.nacos.settings import CONFIRMED, READS

PATHS: Final = {True: "/v3/admin/cs/config", False: "/v3/client/cs/config"}
"""What is asked for a confirmed read, and for a local one."""
_ABSENT: Final = next(row.name for row in TABLE if row.code == NOT_FOUND)
_CONFIG_GROUP: Final = "chaos"


class _Config(msgspec.Struct):
    content: str


class NacosClient(RoutedClient[Server]):
    """One logical client of Nacos."""

    def __init__(self, view: ClusterView, number: int, clients: int, seed: int) -> None:
        servers = Servers(view)
        super().__init__(view, number, clients, seed, servers.links, servers, "the servers")
        self._mark = view.mark
        self._path = PATHS[view.settings[READS] == CONFIRMED]

    async def _perform(self, op: Invocation, node: str, deadline_ns: int, received: Received) -> None:
        server, which = self._links[node], {"dataId": f"{self._mark}.{op.key}", "groupName": _CONFIG_GROUP}
        if op.f is register.F.WRITE:
            form = {**which, "content": str(op.argument.value), "type": "text"}
            if not await server.call(PATHS[True], form, bool, deadline_ns, write=True):
                raise Indefinite("it was not published, and nothing says why")
            return
        try:
            found = await server.call(self._path, which, _Config, deadline_ns)
            received.result = Found(int(found.content))
        except ValueError as error:
            raise Definite(f"malformed answer: {error}") from None
        except Definite as error:
            if str(error) != _ABSENT:
                raise
            received.result = Found(None)
