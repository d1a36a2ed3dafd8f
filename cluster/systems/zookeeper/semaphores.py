"""Semaphores of ZooKeeper: a place that as many hold as there are permits (``places``).

The transaction that made a holder's node is the number of its permit. A permit is given back by removing the node.
"""

from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination.semaphore import F, Permit
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.semaphore_recipe import hold
from cluster.systems.zookeeper.servers import Server

PERMITS: Final = "permits"
"""Below which the nodes of those who want permits are."""
NONE_FREE: Final = "all permits are held"
NOT_OURS: Final = "the permit was not given to this client"


class Semaphores:
    """What a client does with semaphores.

    Args:
        root: below which everything is.
        count_first: permits are counted before one is taken.
    """

    def __init__(self, root: str, *, count_first: bool) -> None:
        self._permits = f"{root}/{PERMITS}"
        self._count_first = count_first
        self._nodes: dict[int, str] = {}

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> Permit | None:
        """Do one operation. Raises Definite or Indefinite."""
        if op.f is F.GIVE_BACK:
            node = self._nodes.get(op.argument.permit)
            if node is None:
                raise Definite(NOT_OURS)
            await server.call(jute.delete(node), deadline_ns, write=True)
            return None
        place, wanted = f"{self._permits}/{op.key}", op.argument
        made = await hold(
            server, place, wanted.lease_ms, wanted.permits, NONE_FREE, deadline_ns, count_first=self._count_first
        )
        self._nodes[made.transaction] = made.path
        return Permit(made.transaction)
