"""Leases of NATS: each a key of an expiring bucket, which lives as long as the bucket's keys do.

A lease is taken by making its key, and renewed by writing it anew at the revision that its client knows. Who was not
answered does not know that one, and looks at it before the next renewal. Who ends a lease removes its key, whatever its
revision is: nobody else writes it.
"""

from typing import Final

from chaos.core.client import Definite
from chaos.core.op import Invocation
from chaos.models.coordination import lease
from cluster.systems.nats.expiring import Expiring
from cluster.systems.nats.jetstream import JetStream

GONE: Final = "there is no such lease"
NOT_OURS: Final = "this client was not granted the lease"


class Leases:
    """What a client does with leases."""

    def __init__(self, keys: Expiring) -> None:
        self._keys = keys
        self._revisions: dict[int, int | None] = {}
        """Lease → the revision of its key; None where the last renewal is in doubt."""

    async def perform(self, server: JetStream, op: Invocation, deadline_ns: int) -> lease.Alive | lease.Living | None:
        """Do one operation. Raises Definite or Indefinite."""
        place = f"leases.{op.key}"
        if op.f is lease.F.READ:
            return lease.Living(await self._keys.names(server, op.key, place, deadline_ns, confirm=True))
        number = op.argument.lease
        name = f"{place}.{number}"
        if op.f is lease.F.GRANT:
            self._keys.check_lasts(op.argument.ttl_ms)
            self._revisions[number] = await self._keys.put(server, op.key, name, b"", 0, deadline_ns)
            return lease.Alive(self._keys.age_ms)
        if number not in self._revisions:
            raise Definite(NOT_OURS)
        if op.f is lease.F.REVOKE:
            await self._keys.remove(server, op.key, name, deadline_ns)
            return None
        known = self._revisions[number]
        if known is None:
            held = await self._keys.last(server, op.key, name, deadline_ns)
            if held is None:
                raise Definite(GONE)
            known = held.seq
        self._revisions[number] = None
        try:
            self._revisions[number] = await self._keys.put(server, op.key, name, b"", known, deadline_ns)
        except Definite:
            self._revisions[number] = known
            raise
        return lease.Alive(self._keys.age_ms)
