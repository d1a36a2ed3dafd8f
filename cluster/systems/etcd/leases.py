"""Leases of etcd: each under an id of its own, with one key that is attached to it.

A lease is granted and its key is put: two requests of one operation. A lease whose key was not put is seen by nobody
and ends by itself. A keepalive does not go through Raft: the leader answers it, and another member asks the leader,
maybe several times. So even that there is no leader may be said of one that was done.
"""

from typing import Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.coordination import lease
from cluster.systems.etcd.gateway import Gateway
from cluster.systems.etcd.streams import StreamError

GONE: Final = "no such lease"
_NO_LEADER: Final = "etcdserver: no leader"
_MS_PER_S: Final = 1000
_NUMBER_BITS: Final = 32
_RUN_MASK: Final = (1 << 30) - 1


class _Granted(msgspec.Struct):
    TTL: int = 0


class _Kept(msgspec.Struct):
    TTL: int = 0  # left out where there is no such lease
    ID: int = 0


class _Stream(msgspec.Struct):
    result: _Kept | None = None
    error: StreamError | None = None


class _Pair(msgspec.Struct):
    key: bytes = b""


class _Ranged(msgspec.Struct):
    kvs: list[_Pair] = []


class _Done(msgspec.Struct):
    pass


class Leases:
    """What a client does with leases.

    Args:
        root: what the run's keys begin with.
        run: a number of the run, so that runs on one cluster do not share ids.
    """

    def __init__(self, root: str, run: int) -> None:
        self._root = root
        self._first_id = (1 + (run & _RUN_MASK)) << _NUMBER_BITS

    async def perform(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> lease.Alive | lease.Living | None:
        """Do one operation. Raises Definite or Indefinite."""
        place = f"{self._root}/leases/{op.key}"
        if op.f is lease.F.READ:
            return await _look(gateway, place, deadline_ns)
        name = {"ID": str(self._first_id + op.argument.lease)}
        if op.f is lease.F.GRANT:
            return await self._grant(gateway, op, name["ID"], f"{place}/{op.argument.lease}", deadline_ns)
        if op.f is lease.F.RENEW:
            return await _renew(gateway, name, deadline_ns)
        await gateway.call("/v3/lease/revoke", name, _Done, deadline_ns, write=True)
        return None

    async def _grant(self, gateway: Gateway, op: Invocation, name: str, key: str, deadline_ns: int) -> lease.Alive:
        """A lease, and its key. Without the key nobody sees the lease, so only the second request can be in doubt."""
        asked = {"ID": name, "TTL": str(-(-op.argument.ttl_ms // _MS_PER_S))}
        try:
            granted = await gateway.call("/v3/lease/grant", asked, _Granted, deadline_ns)
        except Indefinite as error:
            raise Definite(f"no lease: {error}") from None
        if granted.TTL <= 0:
            raise Definite("malformed answer: a lease without a length")
        put = {"key": key.encode(), "value": b"", "lease": name}
        await gateway.call("/v3/kv/put", put, _Done, deadline_ns, write=True)
        return lease.Alive(granted.TTL * _MS_PER_S)


async def _renew(gateway: Gateway, name: dict[str, str], deadline_ns: int) -> lease.Alive:
    """One keepalive, the only one of its stream."""
    try:
        told = await gateway.call("/v3/lease/keepalive", name, _Stream, deadline_ns, write=True)
    except Definite as error:
        raise (Indefinite if str(error) == _NO_LEADER else Definite)(str(error)) from None
    if told.error is not None:
        raise Indefinite(told.error.message)
    if told.result is None or not told.result.ID:
        raise Indefinite("malformed answer: a keepalive without a result")
    if told.result.TTL <= 0:
        raise Definite(GONE)
    return lease.Alive(told.result.TTL * _MS_PER_S)


async def _look(gateway: Gateway, place: str, deadline_ns: int) -> lease.Living:
    """Every lease whose key is there, at one revision; linearizable, whatever other reads are."""
    keys = {"key": f"{place}/".encode(), "range_end": f"{place}0".encode(), "keys_only": True}  # 0 comes behind /
    pairs = (await gateway.call("/v3/kv/range", keys, _Ranged, deadline_ns)).kvs
    try:
        return lease.Living([int(pair.key.rpartition(b"/")[2]) for pair in pairs])
    except ValueError:
        raise Definite("malformed answer: a key that nobody put") from None
