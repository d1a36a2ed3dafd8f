"""Locks of ZooKeeper: the recipe of its documentation and of Curator, asked once instead of waited for.

Whoever wants the lock begins a session as long as the lease, and makes an ephemeral sequential node below the lock's
node. Whose node has the lowest name holds the lock; the others end their sessions again. The transaction that made the
node is the fencing token. The session is left alone then: nobody pings it, so it ends with its lease, and the node with
it. With fencing a guarded write is a multi that demands that the holder's node is still there; without it demands
nothing.
"""

import contextlib
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.coordination import lock
from cluster.systems._shared.link import Connection, Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.outcomes import outcome
from cluster.systems.zookeeper.servers import NO_SESSION, Server
from cluster.systems.zookeeper.transactions import all_or_nothing

KINDS: Final = ("locks", "guarded")
"""Below which the nodes of those who want locks are, and the resources that the locks guard."""
HELD: Final = "somebody holds the lock"
TOO_SHORT: Final = "the server gives no session as long as the lease"
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
            return await self._acquire(server, op, deadline_ns)
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

    async def _acquire(self, server: Server, op: Invocation, deadline_ns: int) -> lock.Granted:
        """Take the lock if nobody has it. A session by itself takes nothing. Raises Definite or Indefinite."""
        try:
            connection, session = await server.begin(jute.session(op.argument.lease_ms), deadline_ns)
        except Indefinite as error:
            raise Definite(f"{NO_SESSION}: {error}") from None
        try:
            if session.timeout_ms < op.argument.lease_ms:  # of 20 ticks at most
                raise Definite(f"{TOO_SHORT}: {session.timeout_ms} ms")
            made = await self._take(connection, f"{self._locks}/{op.key}", deadline_ns)
        finally:
            connection.close()
        self._nodes[made.transaction] = made.path
        return lock.Granted(made.transaction)

    async def _take(self, connection: Connection[jute.Request, jute.Answer], place: str, deadline_ns: int) -> jute.Made:
        """Make a node of our own. Raises Definite if another is lower; Indefinite if nobody knows."""
        mine = jute.create_and_tell(f"{place}/", jute.EPHEMERAL | jute.SEQUENTIAL)
        answer = await connection.ask(mine, deadline_ns)
        if answer.error:
            raise outcome(answer.error, write=True)
        try:
            made = jute.made_of(answer.body)
            beside = await connection.ask(jute.get_children(place), deadline_ns)
            if beside.error:
                raise Indefinite(f"not seen who holds the lock: {outcome(beside.error, write=False)}")
            lowest = min(jute.names_of(beside.body))
        except (Malformed, ValueError) as error:
            raise Indefinite(f"malformed answer: {error}") from None
        except Definite as error:
            raise Indefinite(f"not seen who holds the lock: {error}") from None
        if lowest != made.path.rpartition("/")[2]:
            with contextlib.suppress(Definite, Indefinite):  # it ends by itself then
                await connection.ask(jute.end_session(), deadline_ns)
            raise Definite(HELD)
        return made
