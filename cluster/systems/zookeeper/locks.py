"""Locks of ZooKeeper: a place that one holds (``places``). The transaction that made its node is the fencing token.

With fencing a guarded write is a multi that demands that the holder's node is still there; without it demands nothing.
"""

from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.coordination import lock
from cluster.systems._shared.link import Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.semaphore_recipe import hold
from cluster.systems.zookeeper.servers import Server
from cluster.systems.zookeeper.transactions import all_or_nothing

KINDS: Final = ("locks", "guarded")
"""Below which the nodes of those who want locks are, and the resources that the locks guard."""
HELD: Final = "somebody holds the lock"
NOT_OURS: Final = "the lock was not given to this client under this token"


class Locks:
    """What a client does with locks. ``root``: below which everything is. ``fencing``: writes show their token."""

    def __init__(self, root: str, *, fencing: bool) -> None:
        self._locks, self._guarded = (f"{root}/{kind}" for kind in KINDS)
        self._fencing = fencing
        self._nodes: dict[int, str] = {}

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> lock.Granted | lock.Written | None:
        """Do one operation. Raises Definite or Indefinite."""
        if op.f is lock.F.ACQUIRE:
            made = await hold(server, f"{self._locks}/{op.key}", op.argument.lease_ms, 1, HELD, deadline_ns)
            self._nodes[made.transaction] = made.path
            return lock.Granted(made.transaction)
        node = self._nodes.get(op.argument.token)
        if node is None:
            raise Definite(NOT_OURS)
        if op.f is lock.F.UNLOCK:
            await server.call(jute.delete(node), deadline_ns, write=True)
            return None
        held = [jute.check(node, jute.ANY_VERSION)] if self._fencing else []
        put = jute.set_data(f"{self._guarded}/{op.key}", str(op.argument.token).encode())
        try:
            return lock.Written(jute.last_version(await all_or_nothing(server, [*held, put], deadline_ns)))
        except Malformed as error:
            raise Indefinite(f"malformed answer: {error}") from None
