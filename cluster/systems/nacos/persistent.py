"""Sets of Nacos: an element is a persistent instance, which Raft keeps until somebody removes it.

A server answers what instances there are from its own memory, so a read may miss elements; it waits before it asks, as
a look at leases does. Nacos would try to reach each instance; so every service is made before the load, without checks.
"""

from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.objects import set as set_model
from cluster.systems.nacos.instances import PATH, SERVICE_GROUP, address_of, listed
from cluster.systems.nacos.outcomes import THERE_ALREADY
from cluster.systems.nacos.servers import Server

SERVICE: Final = "/v3/admin/ns/service"
CLUSTER: Final = "/v3/admin/ns/cluster"
_KEPT: Final = {"ephemeral": "false"}
_UNCHECKED: Final = {
    "clusterName": "DEFAULT",
    "checkPort": "80",
    "useInstancePort4Check": "false",
    "healthChecker": '{"type":"NONE"}',
}


class Sets:
    """What a client does with sets.

    Args:
        mark: what the run's services begin with.
        look_after_ms: how long a read waits before it asks.
    """

    def __init__(self, mark: str, look_after_ms: int) -> None:
        self._mark = mark
        self._wait_s = look_after_ms / 1000

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> set_model.Elements | None:
        """Do one operation. Raises Definite or Indefinite."""
        service = set_at(self._mark, op.key)
        if op.f is set_model.F.READ:
            return set_model.Elements(await listed(server, service, self._wait_s, deadline_ns))
        await server.change(PATH, {**service, **address_of(op.argument.element), **_KEPT}, str, deadline_ns)
        return None


def set_at(mark: str, key: int) -> dict[str, str]:
    """The service that is a set of a run. Pure."""
    return {"serviceName": f"{mark}.set.{key}", "groupName": SERVICE_GROUP}


async def make(server: Server, service: dict[str, str], deadline_ns: int) -> None:
    """Make a service whose instances nobody tries to reach, if it is not there. Raises Definite or Indefinite."""
    try:
        await server.change(SERVICE, {**service, **_KEPT}, str, deadline_ns)
    except Definite as error:
        if str(error) != THERE_ALREADY:
            raise
    await server.change(CLUSTER, {**service, **_UNCHECKED}, str, deadline_ns, method="PUT")


async def unmake(server: Server, service: dict[str, str], deadline_ns: int) -> None:
    """Remove a service and its instances. Raises Definite or Indefinite."""
    for number in await listed(server, service, 0, deadline_ns):
        which = {**service, **address_of(number), **_KEPT}
        await server.change(PATH, which, str, deadline_ns, method="DELETE")
    await server.change(SERVICE, service, str, deadline_ns, method="DELETE")
