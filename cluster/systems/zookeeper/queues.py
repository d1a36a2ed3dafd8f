"""Queues of ZooKeeper: the recipe of its documentation, a sequential node for each message.

Whoever takes a message asks for the names, reads the node with the lowest one and deletes it. Only one delete of a node
is done, so it is the acknowledgement: a client that is told that the node is gone was not given its message, and tries
the next one. Nothing comes back to a queue.
"""

from typing import Final

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.op import Invocation
from chaos.models.queues.total_queue import F, Taken
from cluster.systems._shared.link import Malformed
from cluster.systems._shared.message_values import value_in
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.outcomes import NO_NODE, outcome
from cluster.systems.zookeeper.reads import BARRIER, agree, names_below, node_at
from cluster.systems.zookeeper.servers import Server

QUEUES: Final = "queues"
"""Below which the nodes of messages are."""
TAKEN: Final = "others took the messages that were there"
TRIES: Final = 8
"""So many messages an operation tries to take."""


class Queues:
    """What a client does with queues.

    Args:
        root: below which everything is.
        sync: the setting ``client.sync``.
    """

    def __init__(self, root: str, sync: str) -> None:
        self._queues, self._barrier = f"{root}/{QUEUES}", f"{root}/{BARRIER}"
        self._sync = sync

    async def perform(self, server: Server, op: Invocation, deadline_ns: int, received: Received) -> None:
        """Do one operation. Raises Definite or Indefinite."""
        queue = f"{self._queues}/{op.key}"
        if op.f is F.ENQUEUE:
            message = jute.create(f"{queue}/", b"%d" % op.argument.value, jute.SEQUENTIAL)
            await server.call(message, deadline_ns, write=True)
            return
        names = await self._names(server, queue, deadline_ns)
        if not names:
            received.result = Taken()
            return
        for name in names[:TRIES]:
            if await _take(server, f"{queue}/{name}", deadline_ns, received):
                return
        raise Definite(TAKEN)

    async def _names(self, server: Server, queue: str, deadline_ns: int) -> list[str]:
        """The messages, in their order. Raises Definite."""
        try:
            if self._sync == "true":
                await server.call(jute.sync(queue), deadline_ns)
            elif self._sync == "write":
                await agree(server, self._barrier, deadline_ns)
            return sorted(await names_below(server, queue, deadline_ns))
        except (Indefinite, Malformed) as error:
            raise Definite(f"not read: {error}") from None


async def _take(server: Server, path: str, deadline_ns: int, received: Received) -> bool:
    """Read a message, note it and delete it.

    Returns:
        Whether it was ours to delete; where it was not, nothing is noted.

    Raises:
        Definite: nothing was taken. Indefinite: nobody knows whether what is noted was.
    """
    try:
        node = await node_at(server, path, deadline_ns)
    except (Indefinite, Malformed) as error:
        raise Definite(f"not read: {error}") from None
    if node is None:
        return False
    received.result = Taken(value=value_in(node.data))
    try:
        answer = await server.ask(jute.delete(path), deadline_ns)
    except Definite:
        received.result = None
        raise
    if not answer.error:
        return True
    refused = outcome(answer.error, write=True)
    if isinstance(refused, Definite):
        received.result = None
    if answer.error != NO_NODE:
        raise refused
    return False
