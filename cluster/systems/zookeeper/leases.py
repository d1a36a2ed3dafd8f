"""Leases of ZooKeeper: each a session with one ephemeral node, over a connection of its own.

A client library pings its session and goes on with it elsewhere by itself, as often as it likes. Here a session does
nothing by itself: a renewal is one request, and nothing else keeps a session. Where the session has a connection to
the server that is asked, the renewal is a ping. Otherwise it is one new connection that names the session, so one that
lost its connection, or whose client follows another leader, moves by its next renewal.

A server answers pings by itself and tells its leader within half a tick, if it can. Of a session that is named by a new
connection it asks the leader first. With ``attach`` each renewal is such a connection.
"""

from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.coordination import lease
from cluster.systems._shared.link import Connection, Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.outcomes import outcome
from cluster.systems.zookeeper.reads import BARRIER, agree, names_below
from cluster.systems.zookeeper.servers import NO_SESSION, Server

LEASES: Final = "leases"
"""Below which the nodes of leases are."""
NOT_OURS: Final = "this client does not hold the lease"
NO_CONNECTION: Final = "the session has no connection to this server"


class Held(msgspec.Struct):
    """A lease of this client: its session, and the connection that the session has to a server."""

    lease: int
    session: jute.Session
    server: Server
    connection: Connection[jute.Request, jute.Answer]

    def stands_at(self, server: Server) -> bool:
        """Whether requests of the session can go to this server without another connection."""
        return self.server is server and self.connection.broken is None


class Leases:
    """What a client does with leases. ``root``: below which everything is. ``attach``: no renewal is a ping."""

    def __init__(self, root: str, *, attach: bool) -> None:
        self._barrier, self._leases = f"{root}/{BARRIER}", f"{root}/{LEASES}"
        self._attach = attach
        self._held: dict[int, Held] = {}

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> lease.Alive | lease.Living | None:
        """Do one operation. Raises Definite or Indefinite."""
        place = f"{self._leases}/{op.key}"
        if op.f is lease.F.READ:
            return await self._look(server, place, deadline_ns)
        if op.f is lease.F.GRANT:
            return await self._grant(server, op, f"{place}/{op.argument.lease}", deadline_ns)
        held = self._held.get(op.key)
        if held is None or held.lease != op.argument.lease:
            raise Definite(NOT_OURS)
        if op.f is lease.F.REVOKE:
            if not held.stands_at(server):
                raise Definite(NO_CONNECTION)
            await _ask(held.connection, jute.end_session(), deadline_ns)
            return None
        if self._attach or not held.stands_at(server):
            held.connection.close()
            wanted = jute.session(held.session.timeout_ms, held.session.number, held.session.password)
            held.connection, held.session = await server.begin(wanted, deadline_ns)
            held.server = server
        else:
            await _ask(held.connection, jute.ping(), deadline_ns)
        return lease.Alive(held.session.timeout_ms)

    def close(self) -> None:
        """Drop every connection; the next renewal of a lease goes on with its session. Safe to call twice."""
        for held in self._held.values():
            held.connection.close()

    async def _grant(self, server: Server, op: Invocation, node: str, deadline_ns: int) -> lease.Alive:
        """Begin a session, then make its node. Nobody sees a lease without a node: without a session it has failed."""
        if (before := self._held.pop(op.key, None)) is not None:
            before.connection.close()
        try:
            connection, session = await server.begin(jute.session(op.argument.ttl_ms), deadline_ns)
        except Indefinite as error:
            raise Definite(f"{NO_SESSION}: {error}") from None
        await _ask(connection, jute.create(node, mode=jute.EPHEMERAL), deadline_ns)
        self._held[op.key] = Held(op.argument.lease, session, server, connection)
        return lease.Alive(session.timeout_ms)

    async def _look(self, server: Server, place: str, deadline_ns: int) -> lease.Living:
        """Every lease whose node is there; a write comes first, which a majority must take, whatever other reads do."""
        await agree(server, self._barrier, deadline_ns)
        try:
            return lease.Living([int(name) for name in await names_below(server, place, deadline_ns)])
        except (Malformed, ValueError) as error:
            raise Definite(f"malformed answer: {error}") from None


async def _ask(connection: Connection[jute.Request, jute.Answer], request: jute.Request, deadline_ns: int) -> None:
    """Ask once in a session; where there is no good answer, close its connection. Raises Definite or Indefinite."""
    try:
        answer = await connection.ask(request, deadline_ns)
    except BaseException:
        connection.close()
        raise
    if answer.error:
        connection.close()
        raise outcome(answer.error, write=True)
