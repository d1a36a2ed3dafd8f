"""What each member itself holds: its own copy of the run's keys, and its hash of everything at one revision."""

import asyncio
import hashlib
from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import now_ns, ns_from_now
from chaos.core.replica_data import ReplicaData
from cluster.system import ClusterView
from cluster.systems.etcd.gateway import PEER_PORT, Gateway
from cluster.systems.etcd.settings import GROUP

_ASK_S: Final = 5.0
_PAUSE_S: Final = 0.2
_HASH: Final = "/members/hashkv"
"""For members, and for whoever asks where they ask: the gateway has it since 3.6 only."""


class _Header(msgspec.Struct):
    revision: int = 0


class _Status(msgspec.Struct):
    """What a member has applied."""

    header: _Header
    applied: int = msgspec.field(name="raftAppliedIndex", default=0)


class _Pair(msgspec.Struct):
    key: bytes
    value: bytes = b""
    mod_revision: int = 0


class _Ranged(msgspec.Struct):
    kvs: list[_Pair] = []


class _Hash(msgspec.Struct):
    hash: int = 0
    compact_revision: int = 0


class EtcdReplicas:
    """Implements ``cluster.system.ReplicaReader``. Members are equally far that applied as much of the log."""

    def __init__(self, view: ClusterView) -> None:
        self._mark = view.mark
        self._gateways = {node.name: Gateway(node.address) for node in view.nodes}
        self._peers = {node.name: Gateway(node.address, PEER_PORT) for node in view.nodes}

    async def read(self, timeout_s: float) -> tuple[ReplicaData, ...]:
        """See ``ReplicaReader.read``: once all have applied the same, before and after they were asked."""
        until_ns = ns_from_now(timeout_s)
        while True:
            before = await self._statuses()
            found = await asyncio.gather(*(self._data(name, before) for name in self._gateways))
            after = await self._statuses()
            applied = {one.applied for one in (*before.values(), *after.values())}
            still = len(applied) == 1 and len(before) == len(after) == len(self._gateways)
            if still or now_ns() >= until_ns:
                return tuple(found)
            await asyncio.sleep(_PAUSE_S)

    async def close(self) -> None:
        """Release all connections; safe to call twice."""
        for gateway in (*self._gateways.values(), *self._peers.values()):
            gateway.close()

    async def _statuses(self) -> dict[str, _Status]:
        """How far the members are that answer."""

        async def ask(name: str) -> _Status | None:
            try:
                return await self._gateways[name].call("/v3/maintenance/status", {}, _Status, ns_from_now(_ASK_S))
            except (Definite, Indefinite):
                return None

        said = await asyncio.gather(*(ask(name) for name in self._gateways))
        return {name: one for name, one in zip(self._gateways, said, strict=True) if one is not None}

    async def _data(self, name: str, statuses: dict[str, _Status]) -> ReplicaData:
        """What a member holds, at the revision that all have reached."""
        if name not in statuses:
            return ReplicaData(node=name, subject=GROUP, error="it does not say how far it is")
        keys = {"key": f"{self._mark}/".encode(), "range_end": f"{self._mark}0".encode(), "serializable": True}
        try:
            pairs = (await self._gateways[name].call("/v3/kv/range", keys, _Ranged, ns_from_now(_ASK_S))).kvs
        except (Definite, Indefinite) as error:
            return ReplicaData(node=name, subject=GROUP, error=str(error))
        own, common = statuses[name], min(one.header.revision for one in statuses.values())
        written = hashlib.sha256(b" ".join(b"%s %d" % (pair.key, pair.mod_revision) for pair in pairs)).hexdigest()
        return ReplicaData(
            node=name,
            subject=GROUP,
            position=own.applied,
            entries={self._plain(pair.key): pair.value.decode(errors="backslashreplace") for pair in pairs},
            digests={
                "its revision": str(own.header.revision),
                "digest of the revisions at which keys were written": written[:16],
                **await self._hash(name, common),
            },
        )

    async def _hash(self, name: str, revision: int) -> dict[str, str]:
        """A member's hash at a revision; none if it does not give one there. What is compacted is not part of it."""
        try:
            said = await self._peers[name].call(_HASH, {"revision": revision}, _Hash, ns_from_now(_ASK_S), method="GET")
        except (Definite, Indefinite):
            return {}
        compacted = f", compacted at {said.compact_revision}" if said.compact_revision > 0 else ""
        return {f"hash at revision {revision}{compacted}": str(said.hash)}

    def _plain(self, key: bytes) -> str:
        return key.decode(errors="backslashreplace").removeprefix(f"{self._mark}/")
