"""What each server itself holds: the run's nodes in its own copy, voters' and observers', read without a sync.

A server answers reads from its own copy, and the word ``srvr`` says the last transaction that it has applied. A walk of
the tree has many reads; where that transaction is the same before and after, nothing was applied meanwhile. A session
that begins or ends is a transaction too, so the first walk seldom counts.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Final

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S, now_ns, ns_from_now
from chaos.core.replica_data import ReplicaData
from chaos.core.time_limit import until
from cluster.system import ClusterView
from cluster.systems._shared.link import Malformed
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.client import KINDS
from cluster.systems.zookeeper.outcomes import NO_NODE, outcome
from cluster.systems.zookeeper.servers import Server, answers_to, state_of
from cluster.systems.zookeeper.settings import GROUP

MOVED: Final = "it went on to apply transactions while it was read"
TOO_LONG: Final = "its nodes were not all read in time"
DIGEST: Final = "digest of the transactions and sessions that made and wrote the nodes"

_ASK_S: Final = 5.0
_PAUSE_S: Final = 0.2
_BARE: Final = tuple(kind for kind in KINDS.values() if kind != "registers")
"""The kinds whose nodes below a key have no content: their names say all."""


class ZooKeeperReplicas:
    """Implements ``cluster.system.ReplicaReader``. Servers are equally far that have applied the same transactions."""

    def __init__(self, view: ClusterView) -> None:
        self._root = f"/{view.mark}"
        self._servers = {node.name: Server(node.address) for node in view.nodes}

    async def read(self, timeout_s: float) -> tuple[ReplicaData, ...]:
        """See ``ReplicaReader.read``. Where copies differ they are read twice, and the second time counts."""
        limit_ns = int(max(timeout_s, _ASK_S) * NS_PER_S)
        until_ns, seen = ns_from_now(timeout_s), False
        while True:
            found = await asyncio.gather(*(self._data(name, now_ns() + limit_ns) for name in self._servers))
            still = len({one.position for one in found}) == 1 and not any(one.error for one in found)
            if now_ns() >= until_ns or (still and (seen or _alike(found))):
                return tuple(found)
            seen = still
            await asyncio.sleep(_PAUSE_S)

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        for server in self._servers.values():
            server.close()

    async def _data(self, name: str, deadline_ns: int) -> ReplicaData:
        """What a server holds, and at which transaction."""
        server = self._servers[name]
        try:
            with until(deadline_ns):
                before = await state_of(server, ns_from_now(_ASK_S))
                nodes = await self._nodes(server)
                after = await state_of(server, ns_from_now(_ASK_S))
        except TimeoutError:
            return ReplicaData(node=name, subject=GROUP, error=TOO_LONG)
        except Malformed as error:
            return ReplicaData(node=name, subject=GROUP, error=f"malformed answer: {error}")
        except (Definite, Indefinite) as error:
            return ReplicaData(node=name, subject=GROUP, error=str(error))
        if before.transaction != after.transaction:
            return ReplicaData(node=name, subject=GROUP, error=MOVED)
        known = sorted((path, node) for path, node in nodes.items() if node is not None)
        history = "".join(f"{path} {node.made} {node.written} {node.version} {node.owner}\n" for path, node in known)
        return ReplicaData(
            node=name,
            subject=GROUP,
            position=after.transaction,
            entries={path.removeprefix(f"{self._root}/"): _content(node) for path, node in nodes.items()},
            digests={DIGEST: hashlib.sha256(history.encode()).hexdigest()[:16]},
        )

    async def _nodes(self, server: Server) -> dict[str, jute.Known | None]:
        """The run's nodes by path; None for one of which only the name was asked.

        Raises Definite, Indefinite or Malformed.
        """
        out: dict[str, jute.Known | None] = {}
        paths = [self._root]
        while paths:
            bodies = await _bodies(server, [jute.get_data(path) for path in paths])
            known = {path: jute.known_of(body) for path, body in zip(paths, bodies, strict=True) if body is not None}
            out |= known
            above = [path for path, node in known.items() if node.below > 0]
            lists = await _bodies(server, [jute.get_children(path) for path in above])
            paths = []
            for path, body in zip(above, lists, strict=True):
                below = [f"{path}/{name}" for name in jute.names_of(body)] if body is not None else []
                if self._is_bare(path):
                    out |= dict.fromkeys(below)
                else:
                    paths += below
        return out

    def _is_bare(self, path: str) -> bool:
        """Whether the nodes below a path have no content."""
        words = path.removeprefix(f"{self._root}/").split("/")
        return len(words) == 2 and words[0] in _BARE  # noqa: PLR2004 - a kind and a key


async def _bodies(server: Server, requests: Sequence[jute.Request]) -> list[bytes | None]:
    """The answers; None of a node that is not there. Raises Definite or Indefinite."""
    out: list[bytes | None] = []
    for answer in await answers_to(server, requests, _ASK_S):
        if isinstance(answer, Exception):
            raise answer
        if answer.error not in (0, NO_NODE):
            raise outcome(answer.error, write=False)
        out.append(None if answer.error else answer.body)
    return out


def _alike(found: Sequence[ReplicaData]) -> bool:
    return all((one.entries, one.digests) == (found[0].entries, found[0].digests) for one in found)


def _content(node: jute.Known | None) -> str:
    return "" if node is None else node.data.decode(errors="backslashreplace")
