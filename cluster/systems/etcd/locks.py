"""Locks of etcd: a key under a lease, made if it is not there. Its revision is the fencing token.

Taking a lock is two requests, as etcd's own recipe has it: a lease is granted, and a transaction makes the key if
nobody has. A lease whose key was not made ends by itself. With fencing a guarded write is a transaction that demands
that the lock's key is still the one that was made with the token; without it is a put.
"""

from typing import Any, Final

import msgspec

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.coordination import lock
from cluster.systems.etcd.gateway import Gateway

HELD: Final = "somebody holds the lock"
NOT_HELD: Final = "the lock is not held under this token"
_MS_PER_S: Final = 1000


class _Header(msgspec.Struct):
    revision: int = 0


class _Granted(msgspec.Struct):
    ID: int = 0


class _Decided(msgspec.Struct):
    header: _Header = msgspec.field(default_factory=_Header)
    succeeded: bool = False  # false is left out


class Locks:
    """What a client does with locks. ``root``: what the run's keys begin with. ``fencing``: writes show their token."""

    def __init__(self, root: str, *, fencing: bool) -> None:
        self._root = root
        self._fencing = fencing

    async def perform(self, gateway: Gateway, op: Invocation, deadline_ns: int) -> lock.Granted | lock.Written | None:
        """Do one operation. Raises Definite or Indefinite."""
        held = f"{self._root}/locks/{op.key}".encode()
        if op.f is lock.F.ACQUIRE:
            lease = await new_lease(gateway, op.argument.lease_ms, deadline_ns)
            put = {"request_put": {"key": held, "value": b"held", "lease": str(lease)}}
            return lock.Granted(await self._decide(gateway, held, 0, put, HELD, deadline_ns))
        token = op.argument.token
        if op.f is lock.F.UNLOCK:
            await self._decide(gateway, held, token, {"request_delete_range": {"key": held}}, NOT_HELD, deadline_ns)
            return None
        put = {"request_put": {"key": f"{self._root}/guarded/{op.key}".encode(), "value": str(token).encode()}}
        return lock.Written(
            await self._decide(gateway, held, token if self._fencing else None, put, NOT_HELD, deadline_ns)
        )

    async def _decide(
        self, gateway: Gateway, held: bytes, made: int | None, then: dict[str, Any], otherwise: str, deadline_ns: int
    ) -> int:
        """Do something if the lock's key was made at a revision, 0 if there is none, None whatever it is.

        Returns:
            The revision that it was done at.

        Raises:
            Definite: it was not done. Indefinite: nobody knows.
        """
        holds = {"key": held, "result": "EQUAL", "target": "CREATE", "create_revision": str(made)}
        body = {"compare": [] if made is None else [holds], "success": [then]}
        decided = await gateway.call("/v3/kv/txn", body, _Decided, deadline_ns, write=True)
        if not decided.succeeded:
            raise Definite(otherwise)
        if not decided.header.revision:
            raise Indefinite("malformed answer: a transaction without a revision")
        return decided.header.revision


async def new_lease(gateway: Gateway, lease_ms: int, deadline_ns: int) -> int:
    """The id of a new lease. Whatever becomes of it, nothing is held by it alone. Raises Definite."""
    try:
        seconds = -(-lease_ms // _MS_PER_S)
        lease = (await gateway.call("/v3/lease/grant", {"TTL": str(seconds)}, _Granted, deadline_ns)).ID
    except Indefinite as error:
        raise Definite(f"no lease: {error}") from None
    if not lease:
        raise Definite("malformed answer: a lease without a number")
    return lease
