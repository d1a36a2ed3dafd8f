"""Transactions over keys: what is read, node by node, and one multi that holds only if nothing of it has changed.

ZooKeeper reads no two nodes at one moment. So a transaction reads its nodes one by one, and then asks for a multi: it
writes what is to be written, and checks the version of every node that was read. The leader does all of a multi or
nothing, so where it is done, everything that was read was there at that moment, however old the copy was from which it
came. A key that is not there is checked by making its node and removing it again. Until the multi leaves, whatever
happens changes nothing.

With ``client.sync=false`` a transaction that only reads is not checked: it takes what the server's own copy holds.
"""

import asyncio

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.transactions.words import CHANGES, OF_LISTS, Do, Reads
from cluster.systems._shared.link import Malformed
from cluster.systems._shared.read_then_write import outcome_of
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.outcomes import outcome
from cluster.systems.zookeeper.reads import node_at
from cluster.systems.zookeeper.servers import Server

KINDS = ("lists", "cells")
"""Below which the nodes of lists are, and those of registers."""


class Transactions:
    """What a client asks for transactions.

    Args:
        root: below which everything is.
        sync: the setting ``client.sync``.
    """

    def __init__(self, root: str, sync: str) -> None:
        self._root, self._sync = root, sync

    async def perform(self, server: Server, op: Invocation, deadline_ns: int) -> Reads:
        """Do a transaction and return what it read.

        Raises:
            Definite: it was not done. Indefinite: nobody knows.
        """
        lists, changes = op.f in OF_LISTS, op.f in CHANGES
        held = await self._held(server, op, deadline_ns)
        try:
            before = {key: _numbers(node) for key, node in held.items()}
        except ValueError as error:
            raise Definite(f"malformed answer: {error}") from None
        seen, after = outcome_of(op.argument.micros, before, lists=lists)
        if not changes and self._sync == "false":
            return seen
        read = {one.key for one in op.argument.micros if lists or one.do is Do.READ}
        requests: list[jute.Request] = []
        for key, node in held.items():
            path, data = self._path(op, key), " ".join(map(str, after[key])).encode() if key in after else None
            requests += _step(path, node, data, checked=key in read)
        await all_or_nothing(server, requests, deadline_ns)
        return seen

    async def _held(self, server: Server, op: Invocation, deadline_ns: int) -> dict[int, jute.Node | None]:
        """Each key's node, None where there is none. Raises Definite."""
        keys = list(dict.fromkeys(one.key for one in op.argument.micros))
        try:
            if self._sync == "true":
                await server.call(jute.sync(self._path(op, keys[0])), deadline_ns)
            nodes = await asyncio.gather(*(node_at(server, self._path(op, key), deadline_ns) for key in keys))
        except (Indefinite, Malformed) as error:
            raise Definite(f"not read: {error}") from None
        return dict(zip(keys, nodes, strict=True))

    def _path(self, op: Invocation, key: int) -> str:
        return f"{self._root}/{KINDS[op.f not in OF_LISTS]}/{op.key}/{key}"


def _step(path: str, node: jute.Node | None, data: bytes | None, *, checked: bool) -> list[jute.Request]:
    """What a multi does with one node. ``data``: what is written, None for nothing; ``checked``: it was read. Pure."""
    if node is None:
        return [jute.create(path), jute.delete(path)] if data is None else [jute.create(path, data)]
    if data is None:
        return [jute.check(path, node.version)]
    return [jute.set_data(path, data, node.version if checked else jute.ANY_VERSION)]


async def all_or_nothing(server: Server, requests: list[jute.Request], deadline_ns: int) -> bytes:
    """Do all of these at once; what was answered. Raises Definite if nothing was done, Indefinite if nobody knows."""
    answer = await server.call(jute.multi(requests), deadline_ns, write=True)
    try:
        error = jute.error_of_multi(answer.body)
    except Malformed as problem:
        raise Indefinite(f"malformed answer: {problem}") from None
    if error:
        raise outcome(error, write=True)
    return answer.body


def _numbers(node: jute.Node | None) -> tuple[int, ...]:
    """The elements of a list, or the one value of a register. Raises ValueError."""
    return () if node is None else tuple(int(number) for number in node.data.split())
