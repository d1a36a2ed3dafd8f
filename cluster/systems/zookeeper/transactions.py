"""Transactions over keys: what is read, node by node, and one multi that holds only if nothing of it has changed.

ZooKeeper reads no two nodes at one moment. So a transaction reads its nodes one by one, and then asks for a multi: it
writes what is to be written, and checks the version of every node that was read. The leader does all of a multi or
nothing, so where it is done, everything that was read was there at that moment, however old the copy was from which it
came. A key that is not there is checked by making its node and removing it again. Until the multi leaves, whatever
happens changes nothing.

With ``client.sync=false`` a transaction that only reads is not checked: it takes what the server's own copy holds.
"""

import asyncio
from collections.abc import Mapping
from typing import TypeAlias

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
Held: TypeAlias = dict[int, tuple[jute.Node | None, tuple[int, ...]]]
"""By key its node, None where there is none, and the elements of a list, or the one value of a register."""


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
        keys = list(dict.fromkeys(one.key for one in op.argument.micros))
        paths = {key: self._path(op, key) for key in keys}
        held = await held_by(server, paths, deadline_ns, sync=self._sync == "true")
        before = {key: numbers for key, (_, numbers) in held.items()}
        seen, after = outcome_of(op.argument.micros, before, lists=lists)
        if not changes and self._sync == "false":
            return seen
        read = {one.key for one in op.argument.micros if lists or one.do is Do.READ}
        requests: list[jute.Request] = []
        for key, (node, _) in held.items():
            data = " ".join(map(str, after[key])).encode() if key in after else None
            requests += step(paths[key], node, data, checked=key in read)
        await all_or_nothing(server, requests, deadline_ns)
        return seen

    def _path(self, op: Invocation, key: int) -> str:
        return f"{self._root}/{KINDS[op.f not in OF_LISTS]}/{op.key}/{key}"


async def held_by(server: Server, paths: Mapping[int, str], deadline_ns: int, *, sync: bool) -> Held:
    """What some nodes hold, read one by one: what was read of them may be of different moments.

    Args:
        server: who is asked.
        paths: of the nodes, by key.
        deadline_ns: when there must be an answer.
        sync: whether the server catches up with its leader first.

    Raises:
        Definite: nobody said.
    """
    try:
        if sync:
            await server.call(jute.sync(next(iter(paths.values()))), deadline_ns)
        nodes = await asyncio.gather(*(node_at(server, path, deadline_ns) for path in paths.values()))
        return {key: (node, _numbers(node)) for key, node in zip(paths, nodes, strict=True)}
    except (Indefinite, Malformed) as error:
        raise Definite(f"not read: {error}") from None
    except ValueError as error:
        raise Definite(f"malformed answer: {error}") from None


def step(path: str, node: jute.Node | None, data: bytes | None, *, checked: bool) -> list[jute.Request]:
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
