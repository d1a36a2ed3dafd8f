"""Semaphores of etcd: a key under a lease for each who wants a permit; those whose keys were made first have one.

As etcd's own recipe for locks has it, one transaction makes the key and reads which keys were made first: as many as
there are permits. Whose key is not among them ends its lease again, and the key with it. The key's revision is the
number of the permit.

With ``client.countFirst`` a client counts the holders first, and makes its key if there are too few: two requests, and
others may come in between.
"""

import contextlib
from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.coordination.semaphore import F, Permit
from cluster.systems.etcd.gateway import Gateway
from cluster.systems.etcd.locks import new_lease

NONE_FREE: Final = "all permits are held"
NOT_HELD: Final = "the permit is not held"


class _Header(msgspec.Struct):
    revision: int = 0


class _Pair(msgspec.Struct):
    create_revision: int = 0


class _Ranged(msgspec.Struct):
    kvs: list[_Pair] = []
    count: int = 0


class _Response(msgspec.Struct):
    response_range: _Ranged | None = None


class _Decided(msgspec.Struct):
    header: _Header = msgspec.field(default_factory=_Header)
    succeeded: bool = False  # false is left out
    responses: list[_Response] = []


class _Done(msgspec.Struct):
    pass


class Semaphores:
    """What a client does with semaphores.

    Args:
        root: what the run's keys begin with.
        count_first: permits are counted before one is taken.
    """

    def __init__(self, root: str, *, count_first: bool) -> None:
        self._root = root
        self._count_first = count_first
        self._keys: dict[int, bytes] = {}

    async def perform(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> Permit | None:
        """Do one operation. Raises Definite or Indefinite."""
        place = f"{self._root}/permits/{op.key}"
        if op.f is F.ACQUIRE:
            return await self._acquire(gateway, op, place, deadline_ns)
        key = self._keys.get(op.argument.permit)
        if key is None:
            raise Definite(NOT_HELD)
        holds = {"key": key, "result": "EQUAL", "target": "CREATE", "create_revision": str(op.argument.permit)}
        body = {"compare": [holds], "success": [{"request_delete_range": {"key": key}}]}
        if not (await gateway.call("/v3/kv/txn", body, _Decided, deadline_ns, write=True)).succeeded:
            raise Definite(NOT_HELD)
        return None

    async def _acquire(self, gateway: Gateway, op: Invocation, place: str, deadline_ns: int) -> Permit:
        """Take a permit if one is free. A lease by itself takes nothing. Raises Definite or Indefinite."""
        everybody = {"key": f"{place}/".encode(), "range_end": f"{place}0".encode()}  # 0 comes behind /
        permits = op.argument.permits
        if self._count_first:
            await _counted(gateway, everybody, permits, deadline_ns)
        lease = await new_lease(gateway, op.argument.lease_ms, deadline_ns)
        key = f"{place}/{lease}".encode()
        put = {"request_put": {"key": key, "value": b"", "lease": str(lease)}}
        first = {**everybody, "limit": permits, "sort_order": "ASCEND", "sort_target": "CREATE", "keys_only": True}
        body = {"success": [put] if self._count_first else [put, {"request_range": first}]}
        decided = await gateway.call("/v3/kv/txn", body, _Decided, deadline_ns, write=True)
        made = decided.header.revision
        if not made:
            raise Indefinite("malformed answer: a transaction without a revision")
        if not self._count_first and made not in _first_made(decided):
            await _end(gateway, lease, deadline_ns)
            raise Definite(NONE_FREE)
        self._keys[made] = key
        return Permit(made)


async def _counted(gateway: Gateway, everybody: dict[str, Any], permits: int, deadline_ns: int) -> None:
    """Return if somebody may take a permit. Raises Definite."""
    try:
        ranged = await gateway.call("/v3/kv/range", {**everybody, "count_only": True}, _Ranged, deadline_ns)
    except Indefinite as error:
        raise Definite(f"not counted: {error}") from None
    if ranged.count >= permits:
        raise Definite(NONE_FREE)


def _first_made(decided: _Decided) -> set[int]:
    """The revisions of the keys that were made first, as the transaction read them. Raises Indefinite."""
    ranges = [one.response_range for one in decided.responses if one.response_range is not None]
    if len(ranges) != 1:
        raise Indefinite("malformed answer: a transaction without what it read")
    return {pair.create_revision for pair in ranges[0].kvs}


async def _end(gateway: Gateway, lease: int, deadline_ns: int) -> None:
    """End the lease of a key that holds nothing; where that is not done it ends by itself."""
    with contextlib.suppress(Definite, Indefinite):
        await gateway.call("/v3/lease/revoke", {"ID": str(lease)}, _Done, deadline_ns, write=True)
